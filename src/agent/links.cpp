// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/links.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <utility>

#include "transport/bundle.hpp"
#include "transport/channel.hpp"
#include "transport/tcp.hpp"

namespace millrace::agent {

using transport::FrameHeader;
using transport::Kind;

namespace {

// Channels of agents are counted from here, so that they do not meet those of ranks (server_ranks.cpp).
constexpr ChannelId first_channel = 4096;
constexpr std::size_t max_upstreams = 65536;
// What waits in a link of bytes that were fetched: enough to keep it busy.
constexpr std::size_t data_backlog_bytes = std::size_t{1} << 20;

}  // namespace

struct Links::Group {
  transport::LinkKey key;
  std::uint32_t node;
  std::uint32_t lanes;
  FileSlot file;
  std::uint64_t file_number;
  std::uint64_t record_max_bytes;                     // 0: nobody writes
  std::map<std::uint32_t, std::uint64_t> heard = {};  // by lane: signs of progress from downstream
};

// The receiving end of a link.
struct Links::Upstream {
  transport::LinkIo io;
  std::uint32_t watched = 0;
  std::uint32_t events = EPOLLIN;
  bool joined = false;
  bool closed = false;  // it has asked to close: what it says after that is of no interest
  ChannelId channel = 0;
  FileSlot file = 0;
  std::uint32_t lane = 0;
  std::uint64_t record_max_bytes = 0;
  std::uint64_t shown = 0;           // of what its lane has heard
  transport::Unbundler bundle = {};  // of the frame that has been taken in part
};

Links::Links(io::Net& net, const io::Clock& clock, Watch watch, Log log, std::uint64_t first_tag,
             const transport::LinkTimes& times)
    : net_(net),
      clock_(clock),
      watch_(std::move(watch)),
      log_(std::move(log)),
      first_tag_(first_tag),
      times_(times) {}

Links::~Links() = default;

Result<std::uint16_t> Links::listen() {
  if (listener_ == nullptr) {
    Result<std::unique_ptr<io::Listener>> listener = net_.listen();
    if (!listener) return listener.status();
    listener_ = *std::move(listener);
    watch_(listener_->descriptor(), EPOLLIN, first_tag_);
  }
  return listener_->port();
}

void Links::serve(const transport::Register& registration, FileSlot file, std::uint64_t file_number) {
  const transport::Routing& routing = registration.routing;
  Group group{transport::LinkKey(routing.key),
              routing.node,
              routing.lanes,
              file,
              file_number,
              registration.reads_only != 0 ? 0 : registration.settings.record_max_bytes};
  if (const auto known = groups_.find(registration.group); known != groups_.end())
    group.heard = std::move(known->second.heard);
  groups_.insert_or_assign(registration.group, std::move(group));
}

// A slot may have another file by now.
void Links::forget_groups(const Core& core) {
  std::erase_if(groups_, [&core](const auto& entry) {
    return core.file_number(entry.second.file) != entry.second.file_number;
  });
}

Route Links::route_of(const transport::Register& registration) {
  const transport::Routing& routing = registration.routing;
  Route route;
  route.stripe_bytes = routing.stripe_bytes;
  route.stands_in = routing.stands_in != 0;
  for (std::uint32_t lane = 0; lane < std::min(routing.lanes, transport::max_lanes); ++lane) {
    const transport::Hop& hop = routing.hops[lane];
    LaneRoute& way = route.lanes.emplace_back();
    way.upstreams = hop.upstreams;
    way.keeps = hop.keeps != 0;
    if (hop.next.port == 0) continue;
    const auto to = std::make_shared<Downstream>(Downstream{
        hop.next, transport::LinkKey(routing.key), {registration.group, routing.node, hop.node, lane}});
    way.next = make_carrier(to, registration.settings.record_max_bytes, [this, to] { connect(to); });
  }
  return route;
}

void Links::connect(const std::shared_ptr<Downstream>& to) {
  const Status status = to->connect(net_, times_, clock_.now_ns());
  if (!status.ok())
    return log_("cannot reach the agent at " + transport::to_text(to->address) + ": " + status.describe());
  to->tag = first_tag_ + next_tag_++;
  downstreams_.emplace(to->tag, to);
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
  constexpr std::uint32_t broken = EPOLLERR | EPOLLHUP;
  for (auto place = downstreams_.begin(); place != downstreams_.end();) {
    Downstream& to = *place->second;
    const std::uint32_t events = std::exchange(to.events, 0);
    const Status status =
        to.io->pump(now_ns, (events & (EPOLLIN | broken)) != 0, (events & (EPOLLOUT | broken)) != 0);
    const std::uint64_t before = to.progress;
    to.listen();
    hear(to.introduction, to.progress - before);
    if (!status.ok() && to.status.ok()) {
      to.status = status.code() == Code::timeout ? status : Status(Code::lost_peer, status.error());
      if (!to.abandoned) log_("lost the agent at " + transport::to_text(to.address) + ": " + to.io->reason());
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
}

void Links::hear(const transport::LinkIntroduction& from, std::uint64_t signs) {
  if (signs == 0) return;
  progress_ += signs;
  if (const auto group = groups_.find(from.group); group != groups_.end())
    group->second.heard[from.lane] += signs;
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
    Result<std::unique_ptr<io::Stream>> stream = listener_->accept();
    if (!stream || *stream == nullptr) return;
    if (upstreams_.size() >= max_upstreams) continue;
    const std::uint64_t tag = first_tag_ + next_tag_++;
    auto link = transport::Link::accepting(
        [this](const transport::LinkIntroduction& introduction) { return key_for(introduction); });
    upstreams_.emplace(tag, std::make_unique<Upstream>(Upstream{transport::LinkIo(
                                *std::move(stream), std::move(link), times_, clock_.now_ns())}));
  }
}

// The lowest: Core wants small numbers.
ChannelId Links::free_channel() const {
  ChannelId channel = first_channel;
  while (has(channel) || std::ranges::find(ended_, channel) != ended_.end()) ++channel;
  return channel;
}

bool Links::has(ChannelId channel) const { return link_of(channel) != nullptr; }

bool Links::enroll(Upstream& from, Core& core) {
  const transport::LinkIntroduction& who = from.io.link().introduction();
  const auto group = groups_.find(who.group);
  if (group == groups_.end()) return false;
  const ChannelId channel = free_channel();
  if (!core.join(channel, group->second.file, who.lane, who.group).ok()) return false;
  joined_.emplace(channel, &from);
  from.joined = true;
  from.channel = channel;
  from.file = group->second.file;
  from.lane = who.lane;
  from.record_max_bytes = group->second.record_max_bytes;
  return true;
}

Drained Links::drain(Core& core, std::vector<PendingRequest>& requests) {
  forget_groups(core);
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
    const bool waits = drained == Drained::held || drained == Drained::core_is_full;
    if (drained != Drained::broken && (from.io.status().ok() || waits)) {
      ++place;
      continue;
    }
    end(from, core, drained == Drained::broken ? why : from.io.reason());
    if (from.watched != 0) watch_(from.io.socket(), 0, place->first);
    place = upstreams_.erase(place);
  }
  return result;
}

// A record, or many.
Drained Links::take_records(Upstream& from, Core& core, const FrameHeader& frame,
                            std::span<const std::byte> payload, std::string& why) {
  if (payload.size() > from.record_max_bytes || frame.offset > UINT64_MAX / 2 || from.closed)
    return Drained::broken;
  if (!from.bundle.begun() && core.holds_back(from.channel, from.file, from.lane)) return Drained::held;
  if (!core.ready(from.file, from.lane)) return Drained::core_is_full;
  if (!from.bundle.begun() &&
      transport::record_checksum(payload.data(), frame.length, frame.offset) != frame.checksum) {
    why = "a record does not match its checksum";
    return Drained::broken;
  }
  if (frame.kind == Kind::write) {
    core.write(from.channel, from.file, frame.offset, payload);
    return Drained::done;
  }
  for (;; from.bundle.taken()) {
    transport::Unbundler::Record record{};
    const auto found = from.bundle.next(frame.offset, payload, record);
    if (found == transport::Unbundler::Found::end) break;
    if (found == transport::Unbundler::Found::corrupt || record.offset > UINT64_MAX / 2)
      return Drained::broken;
    if (!core.ready(from.file, from.lane)) return Drained::core_is_full;
    core.write(from.channel, from.file, record.offset, record.data);
  }
  from.bundle = {};
  return Drained::done;
}

Drained Links::drain(Upstream& from, Core& core, std::vector<PendingRequest>& requests, std::string& why) {
  FrameHeader frame{};
  const std::byte* payload = nullptr;
  while (from.io.link().next(frame, payload)) {
    why = "a frame that no agent sends";
    switch (frame.kind) {
      case Kind::write:
      case Kind::records: {
        const Drained taken = take_records(from, core, frame, {payload, frame.length}, why);
        if (taken != Drained::done) return taken;
        ++frames_;
        break;
      }
      case Kind::mark:
        if (!transport::may_mark(frame) || from.closed) return Drained::broken;
        core.mark(from.channel, from.file, frame.offset);
        break;
      case Kind::flush:
      case Kind::arrive:
      case Kind::sync:
      case Kind::close:
      case Kind::fetch: {
        if (frame.request == 0 || from.closed) return Drained::broken;
        if (frame.kind == Kind::fetch && !transport::may_fetch(frame)) return Drained::broken;
        from.closed = frame.kind == Kind::close;
        frame.file = from.file;
        requests.push_back({from.channel, frame, {}, 0});
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
    if (from.io.heard()) log_("refused an agent: " + why);  // else somebody tried whether it can be reached
    return;
  }
  joined_.erase(from.channel);
  ended_.push_back(from.channel);
  if (!from.closed) log_("lost an agent upstream: " + why);
  core.abandon(from.channel);
}

transport::Link* Links::link_of(ChannelId channel) const {
  const auto place = joined_.find(channel);
  return place == joined_.end() ? nullptr : &place->second->io.link();
}

bool Links::answer(ChannelId channel, std::uint32_t request, Status status) {
  transport::Link* const link = link_of(channel);
  if (link == nullptr) return false;
  link->put_reply(0, request, status);
  link->flush();
  return true;
}

// --- what upstream agents have asked for ---

bool Links::has_room(ChannelId channel) const {
  const transport::Link* const link = link_of(channel);
  return link != nullptr && link->backlog_bytes() < data_backlog_bytes;
}

void Links::data(ChannelId channel, std::uint32_t request, std::uint64_t offset,
                 std::span<const std::byte> bytes) {
  FrameHeader frame{};
  frame.kind = Kind::data;
  frame.request = request;
  frame.offset = offset;
  frame.checksum = transport::record_checksum(bytes.data(), static_cast<std::uint32_t>(bytes.size()), offset);
  link_of(channel)->put(frame, bytes);
}

void Links::end_of_data(ChannelId channel, std::uint32_t request, std::uint64_t file_bytes) {
  FrameHeader frame{};
  frame.kind = Kind::data;
  frame.request = request;
  frame.span = file_bytes;
  link_of(channel)->put(frame, {});
}

void Links::show_progress(bool own) {
  for (auto& [tag, from] : upstreams_) {
    if (!from->joined || from->closed) continue;
    const auto group = groups_.find(from->io.link().introduction().group);
    const std::uint64_t heard = group != groups_.end() ? group->second.heard[from->lane] : 0;
    if (std::exchange(from->shown, heard) == heard && !own) continue;
    from->io.link().put_reply(0, Downstream::no_request, {});
    from->io.link().flush();
  }
}

std::uint64_t Links::deadline_ns() const {
  std::uint64_t next = UINT64_MAX;
  for (const auto& [tag, from] : upstreams_) next = std::min(next, from->io.deadline_ns());
  for (const auto& [tag, to] : downstreams_) next = std::min(next, to->io->deadline_ns());
  return next;
}

bool Links::idle() const { return upstreams_.empty() && downstreams_.empty(); }

}  // namespace millrace::agent
