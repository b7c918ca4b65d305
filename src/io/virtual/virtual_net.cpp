// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/virtual/virtual_net.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "io/virtual/virtual_streams.hpp"

namespace millrace::io {

namespace {
// The time before a connection without an answer tries again.
constexpr std::uint64_t retry_ns = 1'000'000'000;
}  // namespace

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

// The address fd00::<node>, with 16 bits for the node.
NetAddress VirtualNet::address_of(std::uint32_t node, std::uint16_t port) {
  NetAddress address;
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

int VirtualNet::new_descriptor(Endpoint endpoint) {
  endpoints_.push_back(std::move(endpoint));
  return first_descriptor + static_cast<int>(endpoints_.size()) - 1;
}

VirtualNet::Ready VirtualNet::ready(int descriptor) const {
  const auto index = static_cast<std::size_t>(descriptor - first_descriptor);
  if (descriptor < first_descriptor || index >= endpoints_.size()) return {};
  const Endpoint& endpoint = endpoints_[index];
  if (endpoint.listening != nullptr) return {!endpoint.listening->waiting.empty(), false, false};
  const Shared connection = endpoint.connection.lock();
  if (!connection) return {};
  const int side = endpoint.side;
  const Direction& from = connection->way[1 - side];
  const bool connected = side == 1 || connection->answered;
  return {from.in.size() > 0 || from.ended,
          connected && connection->way[side].out.size() < options_.send_buffer_bytes,
          connection->broken[side]};
}

// --- Moving bytes ---

// Handles the first packet of a connection at the other node.
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

// Sends the bytes that may go now.
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
  // Wakes a sender that waits for room. It is woken in an event of its own, not inside another node's
  // receive().
  if (was_full && way.out.size() < options_.send_buffer_bytes && connection->open[side])
    timeline_.after(0, [this, node = connection->node[side], descriptor = connection->descriptor[side]] {
      changed(node, descriptor);
    });
}

// Moves the segment through pipe number `hop` of its path.
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

// Plans the arrival of a segment, with a random delay. Segments of a stream arrive in order.
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
  if (host.silent) return;
  if (connection->broken[there]) return reset(connection, side, ECONNRESET);
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

// Called when this side closes. The sent bytes still go to the other side, followed by the end.
void VirtualNet::closed(const Shared& connection, int side) {
  connection->open[side] = false;
  endpoint(connection->descriptor[side]) = {};
  if (connection->node[side] < hosts_.size())
    hosts_[connection->node[side]]->ends.erase(connection->descriptor[side]);
  push(connection, side);
}

}  // namespace millrace::io
