// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/links.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "transport/channel.hpp"
#include "transport/memory.hpp"

namespace millrace::agent {

using transport::FrameHeader;
using transport::Kind;

namespace {

// Channels of agents are counted from here, so that they do not meet those of ranks (server_ranks.cpp).
constexpr ChannelId first_channel = 4096;
constexpr std::uint32_t no_request = 0;  // a reply to none: a sign of progress
constexpr std::size_t max_upstreams = 65536;
// Agents that have not come when everybody else has gone for so long will not come: their node is lost.
constexpr std::uint64_t await_ns = 60'000'000'000;

}  // namespace

struct Links::Group {
  transport::LinkKey key;
  std::uint32_t node;
  std::uint32_t lanes;
  FileSlot file;
  std::uint64_t record_max_bytes;
  std::uint32_t ranks;     // that have it open here
  std::uint32_t awaited;   // upstream agents that have not come yet, over all lanes
  std::uint32_t upstreams;  // ... that are here
  std::uint64_t alone_since_ns = 0;  // without ranks and without upstream agents; 0: it is not

  bool over() const { return ranks == 0 && awaited == 0 && upstreams == 0; }
};

// The receiving end of a link.
struct Links::Upstream {
  transport::LinkIo io;
  std::uint32_t watched = 0;
  std::uint32_t events = EPOLLIN;
  bool joined = false;
  bool closed = false;  // it has asked to close: what it says after that is of no interest
  ChannelId channel = 0;
  std::uint64_t group = 0;
  FileSlot file = 0;
  std::uint64_t record_max_bytes = 0;
};

// The sending end; shared with the Carrier that Core has.
struct Links::Downstream {
  transport::TcpAddress address;
  transport::LinkKey key;
  transport::LinkIntroduction introduction;
  std::optional<transport::LinkIo> io = {};
  std::uint64_t tag = 0;
  std::uint32_t watched = 0;
  std::uint32_t events = 0;
  Status status = {};
  bool abandoned = false;  // the Carrier has gone
  std::vector<Carrier::Answer> answers = {};
};

// The Carrier over a Downstream. What is said before it is connected waits in the link.
class Links::LinkCarrier final : public Carrier {
 public:
  LinkCarrier(Links& links, std::shared_ptr<Downstream> to) : links_(links), to_(std::move(to)) {}
  ~LinkCarrier() override { to_->abandoned = true; }
  LinkCarrier(const LinkCarrier&) = delete;
  LinkCarrier& operator=(const LinkCarrier&) = delete;

  bool has_room() const override { return !to_->io || to_->io->link().has_room(); }
  void write(std::uint64_t offset, std::span<const std::byte> data) override {
    FrameHeader frame{};
    frame.kind = Kind::write;
    frame.length = static_cast<std::uint32_t>(data.size());
    frame.offset = offset;
    frame.checksum = transport::record_checksum(data.data(), frame.length, offset);
    put(frame, data);
  }
  void request(Kind kind, std::uint32_t request, Extent extent) override {
    FrameHeader frame{};
    frame.kind = kind;
    frame.request = request;
    frame.offset = extent.begin;
    frame.span = extent.end == UINT64_MAX ? UINT64_MAX : extent.size();
    put(frame, {});
  }
  void flush() override {
    if (to_->io) to_->io->link().flush();
  }
  void take_answers(std::vector<Answer>& answers) override {
    answers.insert(answers.end(), to_->answers.begin(), to_->answers.end());
    to_->answers.clear();
  }
  Status status() const override { return to_->status; }

 private:
  void put(const FrameHeader& frame, std::span<const std::byte> payload) {
    if (!to_->io) links_.connect(to_);
    if (to_->io) to_->io->link().put(frame, payload);
  }

  Links& links_;  // outlives every call: Server drives Core
  std::shared_ptr<Downstream> to_;
};

Links::Links(Watch watch, Log log, std::uint64_t first_tag, const transport::LinkTimes& times)
    : watch_(std::move(watch)), log_(std::move(log)), first_tag_(first_tag), times_(times) {}

Links::~Links() = default;

Result<std::uint16_t> Links::listen() {
  if (listener_.valid()) return port_;
  Result<Fd> listener = transport::tcp_listen({});
  if (!listener) return listener.status();
  const Result<transport::TcpAddress> address = transport::local_address(listener->get());
  if (!address) return address.status();
  listener_ = *std::move(listener);
  port_ = address->port;
  watch_(listener_.get(), EPOLLIN, first_tag_);
  return port_;
}

void Links::serve(std::uint64_t number, const transport::Register& registration, FileSlot file) {
  const transport::Routing& routing = registration.routing;
  const auto known = groups_.find(number);
  if (known != groups_.end()) {
    ++known->second.ranks;
    return;
  }
  std::uint32_t awaited = 0;
  for (std::uint32_t lane = 0; lane < routing.lanes; ++lane) awaited += routing.hops[lane].upstreams;
  groups_.emplace(number, Group{transport::LinkKey(routing.key), routing.node, routing.lanes, file,
                                registration.settings.record_max_bytes, 1, awaited, 0});
}

void Links::release(FileSlot file) {
  const auto group = std::ranges::find_if(
      groups_, [file](const auto& entry) { return entry.second.file == file && entry.second.ranks > 0; });
  if (group == groups_.end()) return;
  --group->second.ranks;
  if (group->second.over()) groups_.erase(group);
}

Route Links::route_of(const transport::Register& registration) {
  const transport::Routing& routing = registration.routing;
  Route route;
  route.stripe_bytes = routing.stripe_bytes;
  for (std::uint32_t lane = 0; lane < std::min(routing.lanes, transport::max_lanes); ++lane) {
    const transport::Hop& hop = routing.hops[lane];
    LaneRoute& way = route.lanes.emplace_back();
    way.upstreams = hop.upstreams;
    if (hop.next.port == 0) continue;
    const transport::LinkIntroduction introduction{registration.group, routing.node, hop.node, lane};
    way.next = std::make_unique<LinkCarrier>(
        *this, std::make_shared<Downstream>(
                   Downstream{hop.next, transport::LinkKey(routing.key), introduction}));
  }
  return route;
}

// --- downstream ---

void Links::connect(const std::shared_ptr<Downstream>& way) {
  Downstream& to = *way;
  if (!to.status.ok()) return;
  Result<Fd> socket = transport::tcp_connect(to.address);
  if (!socket) {
    to.status = Code::lost_peer;
    log_("cannot reach the agent at " + transport::to_text(to.address) + ": " + socket.status().describe());
    return;
  }
  to.io.emplace(*std::move(socket), transport::Link::connecting(to.key, to.introduction),
                times_, transport::now_ns());
  to.tag = first_tag_ + next_tag_++;
  downstreams_.emplace(to.tag, way);
}

void Links::take_replies(Downstream& from) {
  FrameHeader frame{};
  const std::byte* payload = nullptr;
  while (from.io->link().next(frame, payload)) {
    transport::Reply reply{};
    if (frame.kind == Kind::reply && frame.length == sizeof reply) {
      std::memcpy(&reply, payload, sizeof reply);
      if (frame.request == no_request) {
        ++progress_;
      } else {
        from.answers.push_back({frame.request, reply.status()});
      }
    } else if (from.status.ok()) {
      from.status = Code::corrupt;
    }
    from.io->link().consume();
  }
}

// --- both ---

void Links::handle(std::uint64_t tag, std::uint32_t events) {
  if (tag == first_tag_) return accept_all();
  if (const auto up = upstreams_.find(tag); up != upstreams_.end()) up->second->events |= events;
  if (const auto down = downstreams_.find(tag); down != downstreams_.end()) down->second->events |= events;
}

void Links::refresh(int socket, std::uint64_t tag, std::uint32_t& watched, transport::LinkIo& io) {
  std::uint32_t wanted = 0;
  if (io.wants_read()) wanted |= EPOLLIN;
  if (io.wants_write()) wanted |= EPOLLOUT;
  if (wanted == watched) return;
  watch_(socket, wanted, tag);
  watched = wanted;
}

void Links::pump(std::uint64_t now_ns) {
  now_ns_ = now_ns;
  constexpr std::uint32_t broken = EPOLLERR | EPOLLHUP;
  for (auto place = downstreams_.begin(); place != downstreams_.end();) {
    Downstream& to = *place->second;
    const std::uint32_t events = std::exchange(to.events, 0);
    const Status status =
        to.io->pump(now_ns, (events & (EPOLLIN | broken)) != 0, (events & (EPOLLOUT | broken)) != 0);
    take_replies(to);
    if (!status.ok() && to.status.ok()) {
      to.status = status.code() == Code::timeout ? status : Status(Code::lost_peer, status.error());
      if (!to.abandoned)
        log_("lost the agent at " + transport::to_text(to.address) + ": " + to.io->reason());
    }
    if (to.abandoned || !to.status.ok()) {
      if (to.watched != 0) watch_(to.io->socket(), 0, to.tag);
      to.watched = 0;
      place = downstreams_.erase(place);
      continue;
    }
    refresh(to.io->socket(), to.tag, to.watched, *to.io);
    ++place;
  }
  for (auto& [tag, from] : upstreams_) {
    const std::uint32_t events = std::exchange(from->events, 0);
    (void)from->io.pump(now_ns, (events & (EPOLLIN | broken)) != 0, (events & (EPOLLOUT | broken)) != 0);
    refresh(from->io.socket(), tag, from->watched, from->io);
  }
  expire_groups();
}

void Links::expire_groups() {
  for (auto place = groups_.begin(); place != groups_.end();) {
    Group& group = place->second;
    const bool alone = group.ranks == 0 && group.upstreams == 0;
    if (!alone) group.alone_since_ns = 0;
    if (alone && group.alone_since_ns == 0) group.alone_since_ns = now_ns_;
    const bool expired = alone && now_ns_ - group.alone_since_ns > await_ns;
    place = expired ? groups_.erase(place) : std::next(place);
  }
}

// --- upstream ---

std::optional<transport::LinkKey> Links::key_for(const transport::LinkIntroduction& introduction) const {
  const auto group = groups_.find(introduction.group);
  if (group == groups_.end() || group->second.node != introduction.to ||
      introduction.lane >= group->second.lanes)
    return std::nullopt;
  return group->second.key;
}

void Links::accept_all() {
  for (;;) {
    Result<Fd> socket = transport::tcp_accept(listener_.get());
    if (!socket || !socket->valid()) return;
    if (upstreams_.size() >= max_upstreams) continue;
    const std::uint64_t tag = first_tag_ + next_tag_++;
    auto link = transport::Link::accepting(
        [this](const transport::LinkIntroduction& introduction) { return key_for(introduction); });
    upstreams_.emplace(tag, std::make_unique<Upstream>(Upstream{transport::LinkIo(
                                *std::move(socket), std::move(link), times_, transport::now_ns())}));
  }
}

ChannelId Links::free_channel() const {
  ChannelId channel = first_channel;
  while (has(channel)) ++channel;
  return channel;
}

bool Links::has(ChannelId channel) const {
  return std::ranges::any_of(upstreams_, [channel](const auto& entry) {
    return entry.second->joined && entry.second->channel == channel;
  });
}

bool Links::enroll(Upstream& from, Core& core) {
  const transport::LinkIntroduction& who = from.io.link().introduction();
  const auto group = groups_.find(who.group);
  if (group == groups_.end()) return false;
  const ChannelId channel = free_channel();
  if (!core.join(channel, group->second.file, who.lane, who.group).ok()) return false;
  from.joined = true;
  from.channel = channel;
  from.group = who.group;
  from.file = group->second.file;
  from.record_max_bytes = group->second.record_max_bytes;
  if (group->second.awaited > 0) --group->second.awaited;
  ++group->second.upstreams;
  return true;
}

Drained Links::drain(Core& core, std::vector<PendingRequest>& requests) {
  Drained result = Drained::done;
  for (auto place = upstreams_.begin(); place != upstreams_.end();) {
    Upstream& from = *place->second;
    std::string why;
    Drained drained = Drained::done;
    if (from.io.link().established()) {
      if (!from.joined && !enroll(from, core)) {
        drained = Drained::broken;
        why = "the file is not open here";
      } else {
        drained = drain(from, core, requests, why);
      }
    }
    if (drained == Drained::core_is_full) result = drained;
    if (drained != Drained::broken && (from.io.status().ok() || drained == Drained::core_is_full)) {
      ++place;
      continue;
    }
    end(from, core, drained == Drained::broken ? why : from.io.reason());
    if (from.watched != 0) watch_(from.io.socket(), 0, place->first);
    place = upstreams_.erase(place);
  }
  return result;
}

Drained Links::drain(Upstream& from, Core& core, std::vector<PendingRequest>& requests, std::string& why) {
  FrameHeader frame{};
  const std::byte* payload = nullptr;
  while (from.io.link().next(frame, payload)) {
    why = "a frame that no agent sends";
    switch (frame.kind) {
      case Kind::write:
        if (frame.length > from.record_max_bytes || frame.offset > UINT64_MAX / 2 || from.closed)
          return Drained::broken;
        if (!core.ready()) return Drained::core_is_full;
        if (transport::record_checksum(payload, frame.length, frame.offset) != frame.checksum) {
          why = "a record does not match its checksum";
          return Drained::broken;
        }
        core.write(from.channel, from.file, frame.offset, {payload, frame.length});
        ++frames_;
        break;
      case Kind::flush:
      case Kind::sync:
      case Kind::close: {
        if (frame.request == 0 || from.closed) return Drained::broken;
        from.closed = frame.kind == Kind::close;
        frame.file = from.file;
        requests.push_back({from.channel, frame, {}});
        break;
      }
      default:
        return Drained::broken;
    }
    from.io.link().consume();
  }
  return Drained::done;
}

void Links::end(Upstream& from, Core& core, const std::string& why) {
  if (!from.joined) {
    log_("refused an agent: " + why);
    return;
  }
  if (!from.closed) log_("lost an agent upstream: " + why);
  core.abandon(from.channel);
  const auto group = groups_.find(from.group);
  if (group == groups_.end()) return;
  if (group->second.upstreams > 0) --group->second.upstreams;
  if (group->second.over()) groups_.erase(group);
}

bool Links::answer(ChannelId channel, std::uint32_t request, Status status) {
  for (auto& [tag, from] : upstreams_) {
    if (!from->joined || from->channel != channel) continue;
    from->io.link().put_reply(0, request, status);
    from->io.link().flush();
    return true;
  }
  return false;
}

void Links::show_progress() {
  for (auto& [tag, from] : upstreams_) {
    if (!from->joined || from->closed) continue;
    from->io.link().put_reply(0, no_request, {});
    from->io.link().flush();
  }
}

std::uint64_t Links::deadline_ns() const {
  std::uint64_t next = UINT64_MAX;
  for (const auto& [tag, from] : upstreams_) next = std::min(next, from->io.deadline_ns());
  for (const auto& [tag, to] : downstreams_) next = std::min(next, to->io->deadline_ns());
  for (const auto& [number, group] : groups_) {
    if (group.alone_since_ns != 0) next = std::min(next, group.alone_since_ns + await_ns + 1);
  }
  return next;
}

bool Links::idle() const { return upstreams_.empty() && downstreams_.empty() && groups_.empty(); }

}  // namespace millrace::agent
