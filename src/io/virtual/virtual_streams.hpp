// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// The sides of connections, the ports and the hosts of a VirtualNet, which are private to it: what a program
// on a node gets from io/net.hpp.
#pragma once

#include <algorithm>
#include <cerrno>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "io/virtual/byte_queue.hpp"
#include "io/virtual/virtual_net.hpp"

namespace millrace::io {

struct VirtualNet::Segment {
  std::vector<std::byte> bytes;  // empty: the end of the stream
};

// The bytes in one direction of a connection.
struct VirtualNet::Direction {
  ByteQueue out;             // sent, and not yet on the way
  ByteQueue in;              // arrived
  std::uint64_t flying = 0;  // bytes on the way
  std::uint64_t landed_ns = 0;
  std::deque<std::shared_ptr<Segment>> held;  // segments that a cut holds back
  bool finishing = false;                     // the end is on its way
  bool ended = false;                         // the end has arrived
};

struct VirtualNet::Connection {
  std::uint32_t node[2] = {};
  int descriptor[2] = {};
  bool open[2] = {true, false};  // a process has this end, or may accept it
  bool answered = false;         // the connecting side knows that it is connected
  std::uint16_t port = 0;
  int error[2] = {};  // reported once
  bool broken[2] = {};
  Direction way[2];  // from side 0, from side 1
};

struct VirtualNet::Listening {
  std::uint32_t node;
  std::uint16_t port;
  int descriptor;
  std::deque<Shared> waiting;
};

// One side of a connection.
class VirtualNet::End final : public Stream {
 public:
  End(VirtualNet& net, Shared connection, int side)
      : net_(net), connection_(std::move(connection)), side_(side) {}
  ~End() override { net_.closed(connection_, side_); }
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  Status tune(std::uint32_t) override { return {}; }
  Result<bool> finish_connect() override {
    if (const Status status = error(); !status.ok()) return status;
    return side_ == 1 || connection_->answered;
  }
  Status error() override {
    const int met = std::exchange(connection_->error[side_], 0);
    return met == 0 ? Status() : Status(Code::lost_peer, met);
  }
  Result<StreamTransfer> receive(std::span<std::byte> to) override {
    Direction& from = connection_->way[1 - side_];
    const std::span<const std::byte> there = from.in.front(to.size());
    if (!there.empty()) {
      std::ranges::copy(there, to.begin());
      const std::size_t bytes = there.size();
      from.in.pop(bytes);
      net_.handled(connection_->node[side_], bytes);
      net_.push(connection_, 1 - side_);  // because the window has room again
      return StreamTransfer{bytes, false, false};
    }
    if (connection_->broken[side_]) return Status(Code::lost_peer, ECONNRESET);
    return from.ended ? StreamTransfer{0, false, true} : StreamTransfer{0, true, false};
  }
  Result<StreamTransfer> send(std::span<const std::byte> from) override {
    if (connection_->broken[side_]) return Status(Code::lost_peer, ECONNRESET);
    if (connection_->way[1 - side_].ended && !connection_->open[1 - side_])
      return Status(Code::lost_peer, EPIPE);
    Direction& to = connection_->way[side_];
    const std::size_t room = net_.options_.send_buffer_bytes - to.out.size();
    if (room == 0) return StreamTransfer{0, true, false};
    from = from.first(std::min(from.size(), room));
    to.out.push(from);
    net_.handled(connection_->node[side_], from.size());
    net_.push(connection_, side_);
    return StreamTransfer{from.size(), false, false};
  }
  int descriptor() const override { return connection_->descriptor[side_]; }
  NetAddress peer() const override { return address_of(connection_->node[1 - side_], connection_->port); }

 private:
  VirtualNet& net_;
  Shared connection_;
  int side_;
};

class VirtualNet::Port final : public Listener {
 public:
  Port(VirtualNet& net, const Listening& listening) : net_(net), listening_(listening) {
    listening_.descriptor = net_.new_descriptor({{}, 0, &listening_});
    net_.ports_[{listening_.node, listening_.port}] = &listening_;
  }
  ~Port() override {
    net_.endpoint(listening_.descriptor) = {};
    net_.ports_.erase({listening_.node, listening_.port});
    for (const Shared& one : listening_.waiting) net_.closed(one, 1);
  }
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  Result<std::unique_ptr<Stream>> accept() override {
    if (listening_.waiting.empty()) return std::unique_ptr<Stream>();
    Shared next = std::move(listening_.waiting.front());
    listening_.waiting.pop_front();
    return std::unique_ptr<Stream>(std::make_unique<End>(net_, std::move(next), 1));
  }
  std::uint16_t port() const override { return listening_.port; }
  int descriptor() const override { return listening_.descriptor; }

 private:
  VirtualNet& net_;
  Listening listening_;
};

class VirtualNet::Host final : public Net {
 public:
  Host(VirtualNet& net, std::uint32_t node) : net_(net), node_(node) {}

  Result<std::unique_ptr<Listener>> listen() override {
    return std::unique_ptr<Listener>(
        std::make_unique<Port>(net_, Listening{node_, net_.next_port_++, 0, {}}));
  }
  Result<std::unique_ptr<Stream>> connect(const NetAddress& to) override {
    auto made = std::make_shared<Connection>();
    made->node[0] = node_;
    made->node[1] = (static_cast<std::uint32_t>(to.ip[14]) << 8) | to.ip[15];
    made->port = to.port;
    for (int side : {0, 1}) {
      made->descriptor[side] = net_.new_descriptor({made, side});
      if (made->node[side] < net_.hosts_.size())
        net_.hosts_[made->node[side]]->ends.insert(made->descriptor[side]);
    }
    net_.timeline_.after(net_.options_.latency_ns, [&net = net_, made] { net.call(made); });
    return std::unique_ptr<Stream>(std::make_unique<End>(net_, std::move(made), 0));
  }

  std::function<void()> wake;
  std::vector<int> changed;  // take_changed()
  std::set<int> ends;        // the descriptors of the host's streams
  std::uint64_t more_ns = 0;
  bool corrupts = false;
  bool silent = false;

 private:
  VirtualNet& net_;
  std::uint32_t node_;
};

}  // namespace millrace::io
