// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/virtual/virtual_net.hpp"

#include <algorithm>
#include <cerrno>
#include <deque>

#include "io/virtual/byte_queue.hpp"

namespace millrace::io {

namespace {

constexpr std::uint64_t retry_ns = 1'000'000'000;     // of a connection that nobody answers
constexpr std::uint64_t retransmit_ns = 200'000'000;  // at most so long after a cut is healed

}  // namespace

struct VirtualNet::Segment {
  std::vector<std::byte> bytes;  // none: the end
};

// What one end says to the other.
struct VirtualNet::Direction {
  ByteQueue out;             // sent, not on its way
  ByteQueue in;              // arrived
  std::uint64_t flying = 0;  // on its way
  std::uint64_t landed_ns = 0;
  std::deque<std::shared_ptr<Segment>> held;  // by a cut
  bool finishing = false;                     // the end is on its way
  bool ended = false;                         // ... and has arrived
};

struct VirtualNet::Connection {
  std::uint32_t node[2] = {};
  int descriptor[2] = {};
  bool open[2] = {true, false};  // somebody has this end, or may accept it
  bool answered = false;         // the connecting side knows that it is connected
  std::uint16_t port = 0;
  int error[2] = {};  // to be told once
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
  Result<Transfer> receive(std::span<std::byte> to) override {
    Direction& from = connection_->way[1 - side_];
    const std::span<const std::byte> there = from.in.front(to.size());
    if (!there.empty()) {
      std::ranges::copy(there, to.begin());
      const std::size_t bytes = there.size();
      from.in.pop(bytes);
      net_.handled(connection_->node[side_], bytes);
      net_.push(connection_, 1 - side_);  // the window has room again
      return Transfer{bytes, false, false};
    }
    if (connection_->broken[side_]) return Status(Code::lost_peer, ECONNRESET);
    return from.ended ? Transfer{0, false, true} : Transfer{0, true, false};
  }
  Result<Transfer> send(std::span<const std::byte> from) override {
    if (connection_->broken[side_]) return Status(Code::lost_peer, ECONNRESET);
    if (connection_->way[1 - side_].ended && !connection_->open[1 - side_])
      return Status(Code::lost_peer, EPIPE);
    Direction& to = connection_->way[side_];
    const std::size_t room = net_.options_.send_buffer_bytes - to.out.size();
    if (room == 0) return Transfer{0, true, false};
    from = from.first(std::min(from.size(), room));
    to.out.push(from);
    net_.handled(connection_->node[side_], from.size());
    net_.push(connection_, side_);
    return Transfer{from.size(), false, false};
  }
  int descriptor() const override { return connection_->descriptor[side_]; }

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
    net_.place(listening_.descriptor) = {};
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
  Result<std::unique_ptr<Stream>> connect(const Address& to) override {
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
  std::set<int> ends;        // descriptors of its streams
  std::uint64_t more_ns = 0;
  bool corrupts = false;
  bool silent = false;

 private:
  VirtualNet& net_;
  std::uint32_t node_;
};

VirtualNet::VirtualNet(Timeline& timeline, Trace& trace, std::uint32_t nodes, const NetOptions& options)
    : timeline_(timeline), trace_(trace), options_(options), handled_(nodes) {
  for (std::uint32_t node = 0; node < nodes; ++node) {
    hosts_.push_back(std::make_unique<Host>(*this, node));
    (void)add_pipe(options.rate_bytes_per_second, options.latency_ns);
    (void)add_pipe(options.rate_bytes_per_second, 0);
  }
}

VirtualNet::~VirtualNet() = default;

Net& VirtualNet::of(std::uint32_t node) { return *hosts_[node]; }

// fd00::<node>, of 16 bits.
Address VirtualNet::address_of(std::uint32_t node, std::uint16_t port) {
  Address address;
  address.ip[0] = 0xfd;
  address.ip[14] = static_cast<std::uint8_t>(node >> 8);
  address.ip[15] = static_cast<std::uint8_t>(node);
  address.port = port;
  return address;
}

void VirtualNet::on_change(std::uint32_t node, std::function<void()> wake) {
  hosts_[node]->wake = std::move(wake);
}

void VirtualNet::changed(std::uint32_t node, int descriptor) {
  hosts_[node]->changed.push_back(descriptor);
  if (hosts_[node]->wake) hosts_[node]->wake();
}

std::vector<int> VirtualNet::take_changed(std::uint32_t node) {
  return std::exchange(hosts_[node]->changed, {});
}

VirtualNet::Pipe VirtualNet::add_pipe(std::uint64_t rate_bytes_per_second, std::uint64_t latency_ns) {
  pipes_.push_back({rate_bytes_per_second, latency_ns});
  return pipes_.size() - 1;
}

void VirtualNet::route(std::uint32_t from, std::uint32_t to, std::vector<Pipe> pipes) {
  routes_[{from, to}] = std::move(pipes);
}

int VirtualNet::new_descriptor(Place place) {
  places_.push_back(std::move(place));
  return first_descriptor + static_cast<int>(places_.size()) - 1;
}

VirtualNet::Ready VirtualNet::ready(int descriptor) const {
  const auto index = static_cast<std::size_t>(descriptor - first_descriptor);
  if (descriptor < first_descriptor || index >= places_.size()) return {};
  const Place& place = places_[index];
  if (place.listening != nullptr) return {!place.listening->waiting.empty(), false, false};
  const Shared connection = place.connection.lock();
  if (!connection) return {};
  const int side = place.side;
  const Direction& from = connection->way[1 - side];
  const bool connected = side == 1 || connection->answered;
  return {from.in.size() > 0 || from.ended,
          connected && connection->way[side].out.size() < options_.send_buffer_bytes,
          connection->broken[side]};
}

// --- The way ---

// The first packet of a connection has come to the other node.
void VirtualNet::call(const Shared& connection) {
  const std::uint32_t from = connection->node[0], to = connection->node[1];
  if (!connection->open[0] || to >= hosts_.size()) return;
  if (is_cut(from, to) || hosts_[to]->silent) {
    timeline_.after(retry_ns, [this, connection] { call(connection); });
    return;
  }
  const auto port = ports_.find({to, connection->port});
  if (port == ports_.end()) return reset(connection, 0, ECONNREFUSED);
  connection->open[1] = true;
  port->second->waiting.push_back(connection);
  trace_.note(timeline_.now_ns(), to, "is called: from port", from, connection->port);
  changed(to, port->second->descriptor);
  timeline_.after(options_.latency_ns, [this, connection, from] {
    connection->answered = true;
    push(connection, 0);
    changed(from, connection->descriptor[0]);
  });
}

// Sends on its way what may go.
void VirtualNet::push(const Shared& connection, int side) {
  Direction& way = connection->way[side];
  if ((side == 0 && !connection->answered) || connection->broken[side]) return;
  const bool was_full = way.out.size() >= options_.send_buffer_bytes;
  while (way.out.size() > 0 && way.flying + way.in.size() < options_.window_bytes) {
    auto segment = std::make_shared<Segment>();
    const std::span<const std::byte> bytes = way.out.front(options_.segment_bytes);
    segment->bytes.assign(bytes.begin(), bytes.end());
    way.out.pop(segment->bytes.size());
    way.flying += segment->bytes.size();
    fly(connection, side, std::move(segment), 0);
  }
  if (way.out.size() == 0 && !connection->open[side] && !std::exchange(way.finishing, true))
    fly(connection, side, std::make_shared<Segment>(), 0);
  // Whoever waits for room is not called from inside another's receive().
  if (was_full && way.out.size() < options_.send_buffer_bytes && connection->open[side])
    timeline_.after(0, [this, node = connection->node[side], descriptor = connection->descriptor[side]] {
      changed(node, descriptor);
    });
}

// Through the pipe of that number on its path.
void VirtualNet::fly(const Shared& connection, int side, std::shared_ptr<Segment> segment, std::size_t hop) {
  const std::uint32_t from = connection->node[side], to = connection->node[1 - side];
  const auto extra = routes_.find({from, to});
  const std::size_t between = extra != routes_.end() ? extra->second.size() : 0;
  const Pipe number = hop == 0 ? 2 * from : hop == between + 1 ? 2 * to + 1 : extra->second[hop - 1];
  Queue& pipe = pipes_[number];
  const std::uint64_t bytes = options_.stands_for_so_many(segment->bytes.size());
  pipe.free_ns = std::max(pipe.free_ns, timeline_.now_ns()) + duration_ns(bytes, pipe.rate);
  if (hop == between + 1) return land(connection, side, std::move(segment), pipe.free_ns + pipe.latency_ns);
  timeline_.at(pipe.free_ns + pipe.latency_ns,
               [this, connection, side, segment = std::move(segment), hop]() mutable {
                 fly(connection, side, std::move(segment), hop + 1);
               });
}

// In order, whatever chance adds.
void VirtualNet::land(const Shared& connection, int side, std::shared_ptr<Segment> segment,
                      std::uint64_t soonest_ns) {
  Direction& way = connection->way[side];
  const std::uint64_t more = hosts_[connection->node[0]]->more_ns + hosts_[connection->node[1]]->more_ns;
  const std::uint64_t late = more + timeline_.below(options_.jitter_ns + 1);
  way.landed_ns = std::max(way.landed_ns, soonest_ns + late);
  timeline_.at(way.landed_ns, [this, connection, side, segment = std::move(segment)]() mutable {
    Direction& here = connection->way[side];
    if (is_cut(connection->node[0], connection->node[1]) || !here.held.empty()) {
      here.held.push_back(std::move(segment));
    } else {
      deliver(connection, side, *segment);
    }
  });
}

void VirtualNet::deliver(const Shared& connection, int side, Segment& segment) {
  const int there = 1 - side;
  const std::uint32_t to = connection->node[there];
  Host& host = *hosts_[to];
  if (host.silent || connection->broken[there]) return;
  const auto descriptor = static_cast<std::uint64_t>(connection->descriptor[there]);
  Direction& way = connection->way[side];
  way.flying -= segment.bytes.size();
  if (segment.bytes.empty()) {
    way.ended = true;
    trace_.note(timeline_.now_ns(), to, "hears the end: from descriptor", connection->node[side], descriptor);
    return changed(to, connection->descriptor[there]);
  }
  if (!connection->open[there]) return reset(connection, side, ECONNRESET);
  if (std::exchange(host.corrupts, false)) {
    segment.bytes[timeline_.below(segment.bytes.size())] ^= std::byte{1};
    trace_.note(timeline_.now_ns(), to, "fault: a wrong bit");
  }
  way.in.push(segment.bytes);
  bytes_moved_ += segment.bytes.size();
  trace_.note(timeline_.now_ns(), to, "hears: from descriptor bytes", connection->node[side], descriptor,
              segment.bytes.size());
  changed(to, connection->descriptor[there]);
}

void VirtualNet::reset(const Shared& connection, int side, int error) {
  timeline_.after(options_.latency_ns, [this, connection, side, error] {
    if (!connection->open[side] || connection->broken[side] || hosts_[connection->node[side]]->silent) return;
    connection->broken[side] = true;
    connection->error[side] = error;
    trace_.note(timeline_.now_ns(), connection->node[side], "connection breaks: descriptor errno",
                static_cast<std::uint64_t>(connection->descriptor[side]), static_cast<std::uint64_t>(error));
    changed(connection->node[side], connection->descriptor[side]);
  });
}

// Nobody has this side any more: what was sent still goes, and then the end.
void VirtualNet::closed(const Shared& connection, int side) {
  connection->open[side] = false;
  place(connection->descriptor[side]) = {};
  if (connection->node[side] < hosts_.size())
    hosts_[connection->node[side]]->ends.erase(connection->descriptor[side]);
  push(connection, side);
}

bool VirtualNet::is_cut(std::uint32_t a, std::uint32_t b) const { return cuts_.contains(std::minmax(a, b)); }

void VirtualNet::cut(std::uint32_t a, std::uint32_t b) {
  trace_.note(timeline_.now_ns(), a, "fault: cut from", b);
  cuts_.insert(std::minmax(a, b));
}

void VirtualNet::heal(std::uint32_t a, std::uint32_t b) {
  trace_.note(timeline_.now_ns(), a, "healed with", b);
  cuts_.erase(std::minmax(a, b));
  for (const Place& end : places_) {
    const Shared connection = end.connection.lock();
    if (!connection || std::minmax(connection->node[0], connection->node[1]) != std::minmax(a, b)) continue;
    const int side = end.side;
    timeline_.after(timeline_.below(retransmit_ns), [this, connection, side] {
      Direction& way = connection->way[1 - side];
      while (!way.held.empty() && !is_cut(connection->node[0], connection->node[1])) {
        const auto segment = std::move(way.held.front());
        way.held.pop_front();
        deliver(connection, 1 - side, *segment);
      }
    });
  }
}

void VirtualNet::delay(std::uint32_t node, std::uint64_t more_ns) {
  trace_.note(timeline_.now_ns(), node, "fault: delayed by", more_ns);
  hosts_[node]->more_ns = more_ns;
}

void VirtualNet::corrupt(std::uint32_t node) { hosts_[node]->corrupts = true; }

void VirtualNet::crash(std::uint32_t node, bool silent) {
  hosts_[node]->silent = silent;
  hosts_[node]->wake = nullptr;
  std::vector<Shared> lost;
  for (const int descriptor : hosts_[node]->ends) {
    if (const Shared connection = place(descriptor).connection.lock()) lost.push_back(connection);
  }
  for (const Shared& connection : lost) {
    for (const int side : {0, 1}) {
      if (connection->node[side] == node) {
        connection->broken[side] = true;  // nothing more goes out
      } else if (!silent) {
        reset(connection, side, ECONNRESET);
      }
    }
  }
}

}  // namespace millrace::io
