// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "io/net.hpp"
#include "io/virtual/timeline.hpp"
#include "io/virtual/trace.hpp"

namespace millrace::io {

struct NetOptions {
  std::uint64_t rate_bytes_per_second = 125'000'000;  // of each node's link in each direction; 0: unlimited
  std::uint64_t latency_ns = 50'000;                  // one way, between any two nodes
  std::uint64_t jitter_ns = 10'000;                   // the most random delay
  std::uint64_t segment_bytes = 16 << 10;
  std::uint64_t send_buffer_bytes = 256 << 10;
  // The most bytes of a stream that are on the way, or arrived and not received.
  std::uint64_t window_bytes = 256 << 10;
  // To simulate a large machine with fewer bytes: each byte takes the time of this many bytes. Segments of at
  // most light_bytes take their own time, because handshakes, requests, answers and pings are as many as on
  // the real machine.
  std::uint64_t stands_for = 1;
  std::uint64_t light_bytes = 0;
  std::uint64_t stands_for_so_many(std::uint64_t bytes) const {
    return bytes > light_bytes ? bytes * stands_for : bytes;
  }
};

// Streams between nodes in virtual time. Sent bytes go in segments through the pipes of their path, one pipe
// after the other. Each pipe takes one segment at a time, in the order of arrival. So streams that share a
// pipe share its rate. By default, the path is the link of the sender and that of the receiver:
//
//   send() -> | send buffer | -> [out of a] -> latency -> [into b] -> | window | -> receive()
//
// A stream keeps the order of its bytes. There is no order between streams. Not thread safe.
class VirtualNet {
 public:
  using Pipe = std::size_t;

  VirtualNet(Timeline& timeline, Trace& trace, std::uint32_t nodes, const NetOptions& options);
  ~VirtualNet();
  VirtualNet(const VirtualNet&) = delete;
  VirtualNet& operator=(const VirtualNet&) = delete;

  // The Net of a node. It is valid as long as the network exists.
  Net& of(std::uint32_t node);
  static NetAddress address_of(std::uint32_t node, std::uint16_t port);
  static std::uint32_t node_of(const NetAddress& address) { return address.ip[14] << 8 | address.ip[15]; }
  // Sets a function that is called when one of the node's descriptors may have become ready.
  void on_change(std::uint32_t node, std::function<void()> wake);

  struct Ready {
    bool readable = false;
    bool writable = false;
    bool broken = false;
  };
  Ready ready(int descriptor) const;
  // Returns the node's descriptors that may have become ready since the last call, in no order. The caller
  // must remember a descriptor that it does not handle, because it is not returned again.
  std::vector<int> take_changed(std::uint32_t node);

  // --- The parts of the network ---

  // Adds a pipe that streams can share: a switch's backplane, a bus, a link between sockets.
  Pipe add_pipe(std::uint64_t rate_bytes_per_second, std::uint64_t latency_ns);
  // Sends streams from `from` to `to` through these pipes too, between the links of the two nodes.
  void route(std::uint32_t from, std::uint32_t to, std::vector<Pipe> pipes);

  // --- Faults ---

  // Cuts the connection between two nodes until heal(), without any notice. Segments on the way arrive after
  // heal().
  void cut(std::uint32_t a, std::uint32_t b);
  void heal(std::uint32_t a, std::uint32_t b);
  bool is_cut(std::uint32_t a, std::uint32_t b) const;
  // Delays all segments from and to the node.
  void delay(std::uint32_t node, std::uint64_t more_ns);
  // Changes a bit in the next segment that arrives at the node.
  void corrupt(std::uint32_t node);
  // Ends the process of the node with all its streams, and resets the other ends. With `silent`, the host
  // itself is lost, and the other ends get no notice.
  void crash(std::uint32_t node, bool silent);
  // Starts another process on the node, whose host is up again. It resets streams to the old process.
  void restart(std::uint32_t node);
  // Cancels changes of bits that have not happened yet.
  void repair();

  std::uint64_t bytes_moved() const { return bytes_moved_; }
  // The bytes that the node's process has sent and received so far. They are counted as bytes of the
  // simulated machine.
  std::uint64_t bytes_handled(std::uint32_t node) const { return handled_[node]; }

 private:
  struct Connection;
  struct Direction;
  struct Listening;
  class End;
  class Port;
  class Host;
  struct Queue {  // a pipe
    std::uint64_t rate;
    std::uint64_t latency_ns;
    std::uint64_t free_ns = 0;
  };
  struct Segment;
  using Shared = std::shared_ptr<Connection>;
  struct Endpoint {  // the object of a descriptor: one side of a connection, a port, or none after close
    std::weak_ptr<Connection> connection;
    int side = 0;
    const Listening* listening = nullptr;
  };

  static constexpr int first_descriptor = 1000;
  int new_descriptor(Endpoint endpoint);
  Endpoint& endpoint(int descriptor) {
    return endpoints_[static_cast<std::size_t>(descriptor - first_descriptor)];
  }

  void changed(std::uint32_t node, int descriptor);
  void call(const Shared& connection);
  void push(const Shared& connection, int side);
  void handled(std::uint32_t node, std::uint64_t bytes) {
    handled_[node] += options_.stands_for_so_many(bytes);
  }
  void fly(const Shared& connection, int side, std::shared_ptr<Segment> segment, std::size_t hop);
  void land(const Shared& connection, int side, std::shared_ptr<Segment> segment, std::uint64_t soonest_ns);
  void deliver(const Shared& connection, int side, Segment& segment);
  void reset(const Shared& connection, int side, int error);
  void closed(const Shared& connection, int side);

  Timeline& timeline_;
  Trace& trace_;
  NetOptions options_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<Queue> pipes_;  // of node n: 2n out, 2n + 1 in; then the added pipes
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Pipe>> routes_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> cuts_;
  std::vector<Endpoint> endpoints_;  // by descriptor, from first_descriptor on
  std::map<std::pair<std::uint32_t, std::uint16_t>, Listening*> ports_;
  std::uint16_t next_port_ = 10000;
  std::uint64_t bytes_moved_ = 0;
  std::vector<std::uint64_t> handled_;  // bytes_handled()
};

}  // namespace millrace::io
