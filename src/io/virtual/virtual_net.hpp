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
  std::uint64_t rate_bytes_per_second = 125'000'000;  // of each node's link, each way; 0 = without end
  std::uint64_t latency_ns = 50'000;                  // one way, between any two
  std::uint64_t jitter_ns = 10'000;                   // up to so much more, by chance
  std::uint64_t segment_bytes = 16 << 10;
  std::uint64_t send_buffer_bytes = 256 << 10;
  std::uint64_t window_bytes = 256 << 10;  // on the way, or arrived and not received
  // For machines that are simulated smaller than they are: a byte takes the time of so many. Not those of
  // segments of at most light_bytes: handshakes, requests, answers and pings are as many as on the machine.
  std::uint64_t stands_for = 1;
  std::uint64_t light_bytes = 0;
  std::uint64_t stands_for_so_many(std::uint64_t bytes) const {
    return bytes > light_bytes ? bytes * stands_for : bytes;
  }
};

// Streams between nodes in virtual time. What is sent goes in segments through the pipes of its path, one
// after the other: each pipe takes one segment at a time, in the order in which they come, so that whoever
// shares a pipe shares its rate. By default the path is the sender's link and the receiver's:
//
//   send() -> | send buffer | -> [out of a] -> latency -> [into b] -> | window | -> receive()
//
// A stream keeps its order whatever happens; streams among each other do not. Not thread safe.
class VirtualNet {
 public:
  using Pipe = std::size_t;

  VirtualNet(Timeline& timeline, Trace& trace, std::uint32_t nodes, const NetOptions& options);
  ~VirtualNet();
  VirtualNet(const VirtualNet&) = delete;
  VirtualNet& operator=(const VirtualNet&) = delete;

  // A node's end; valid as long as this is.
  Net& of(std::uint32_t node);
  static Address address_of(std::uint32_t node, std::uint16_t port);
  // Called when one of the node's descriptors may have become ready.
  void on_change(std::uint32_t node, std::function<void()> wake);

  struct Ready {
    bool readable = false;
    bool writable = false;
    bool broken = false;
  };
  Ready ready(int descriptor) const;
  // The node's descriptors that may have become ready since this was last asked, in no order. Who leaves one
  // as it is remembers it: it is not told of again.
  std::vector<int> take_changed(std::uint32_t node);

  // --- What the network is made of ---

  // Something that streams share: a switch's backplane, a bus, a link between sockets.
  Pipe add_pipe(std::uint64_t rate_bytes_per_second, std::uint64_t latency_ns);
  // From `from` to `to` through these pipes too, between the two nodes' links.
  void route(std::uint32_t from, std::uint32_t to, std::vector<Pipe> pipes);

  // --- Faults ---

  // Nothing passes between the two until it is healed; nobody is told. What was on its way comes then.
  void cut(std::uint32_t a, std::uint32_t b);
  void heal(std::uint32_t a, std::uint32_t b);
  // All segments from or to the node take so much longer.
  void delay(std::uint32_t node, std::uint64_t more_ns);
  // The next segment that comes to the node has a wrong bit.
  void corrupt(std::uint32_t node);
  // The process there is gone with all its streams: the others are told. If `silent` it is the host: they are
  // not.
  void crash(std::uint32_t node, bool silent);
  // Another process takes its place, on a host that is up again: who still sends to the one before is told.
  void restart(std::uint32_t node);
  // No wrong bit is to come any more.
  void repair();

  std::uint64_t bytes_moved() const { return bytes_moved_; }
  // What the node's process has sent and received so far, as bytes of the machine that is simulated.
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
  struct Place {  // what a descriptor means: one side of a connection, or a port, or nothing any more
    std::weak_ptr<Connection> connection;
    int side = 0;
    const Listening* listening = nullptr;
  };

  static constexpr int first_descriptor = 1000;
  int new_descriptor(Place place);
  Place& place(int descriptor) { return places_[static_cast<std::size_t>(descriptor - first_descriptor)]; }

  bool is_cut(std::uint32_t a, std::uint32_t b) const;
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
  std::vector<Queue> pipes_;  // of node n: 2n out, 2n + 1 in; then those that were added
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Pipe>> routes_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> cuts_;
  std::vector<Place> places_;  // by descriptor, from first_descriptor on
  std::map<std::pair<std::uint32_t, std::uint16_t>, Listening*> ports_;
  std::uint16_t next_port_ = 10000;
  std::uint64_t bytes_moved_ = 0;
  std::vector<std::uint64_t> handled_;  // bytes_handled()
};

}  // namespace millrace::io
