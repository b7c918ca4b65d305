// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/epoll.h>

#include <algorithm>
#include <utility>

#include "agent/links/links_impl.hpp"
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
constexpr std::uint32_t broken = EPOLLERR | EPOLLHUP;

}  // namespace

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
    watch_door(clock_.now_ns());
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
  to->agenda = to_down_;
  downstreams_.emplace(to->tag, to);
}

// --- both ---

void Links::handle(std::uint64_t tag, std::uint32_t events) {
  if (tag == first_tag_) return accept_all();
  if (const auto up = upstreams_.find(tag); up != upstreams_.end()) {
    up->second->events |= events;
    from_up_.touch(tag);
  }
  if (const auto down = downstreams_.find(tag); down != downstreams_.end()) {
    down->second->events |= events;
    to_down_->touch(tag);
  }
}

void Links::refresh(int socket, std::uint64_t tag, std::uint32_t& watched, transport::LinkIo& io) {
  std::uint32_t wanted = 0;
  if (io.wants_read()) wanted |= EPOLLIN;
  if (io.wants_write()) wanted |= EPOLLOUT;
  if (wanted == watched) return;
  watch_(socket, wanted, tag);
  watched = wanted;
}

// Only links that something has happened to: there may be thousands.
void Links::pump(std::uint64_t now_ns) {
  if (listener_ != nullptr) watch_door(now_ns);
  for (const std::uint64_t tag : to_down_->take(now_ns)) {
    const auto place = downstreams_.find(tag);
    if (place == downstreams_.end() || pump(*place->second, now_ns)) continue;
    downstreams_.erase(place);
    to_down_->forget(tag);
  }
  for (const std::uint64_t tag : from_up_.take(now_ns)) {
    if (const auto place = upstreams_.find(tag); place != upstreams_.end()) pump(*place->second, now_ns);
  }
}

// False: it is over.
bool Links::pump(Downstream& to, std::uint64_t now_ns) {
  const std::uint32_t events = std::exchange(to.events, 0);
  const Status status =
      to.io->pump(now_ns, (events & (EPOLLIN | broken)) != 0, (events & (EPOLLOUT | broken)) != 0);
  const std::uint64_t before = to.progress;
  to.listen();
  hear(to.introduction, to.progress - before);
  if (!status.ok() && to.status.ok()) {
    to.status = Status(Code::lost_peer, status.error());
    if (!to.abandoned) log_("lost the agent at " + transport::to_text(to.address) + ": " + to.io->reason());
  }
  if (to.abandoned || !to.status.ok()) {
    if (to.watched != 0) watch_(to.io->socket(), 0, to.tag);
    to.watched = 0;
    return false;
  }
  refresh(to.io->socket(), to.tag, to.watched, *to.io);
  to_down_->set_deadline(to.tag, to.io->deadline_ns());
  // What it said may have ended the link: the next round looks at that.
  if (to.io->restless() || !to.io->status().ok()) to.touch();
  return true;
}

void Links::pump(Upstream& from, std::uint64_t now_ns) {
  const std::uint32_t events = std::exchange(from.events, 0);
  (void)from.io.pump(now_ns, (events & (EPOLLIN | broken)) != 0, (events & (EPOLLOUT | broken)) != 0);
  refresh(from.io.socket(), from.tag, from.watched, from.io);
  from_up_.set_deadline(from.tag, from.io.deadline_ns());
  if (from.io.restless()) touch(from);
  if (!from.known && from.io.link().names_group()) {
    from.known = true;
    strangers_.remove(from.tag);
    door_.knows_one();
  }
  heard_.insert(from.tag);
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

// While the door is shut the listener is readable, and must not wake us.
void Links::watch_door(std::uint64_t now_ns) {
  const bool open = door_.open(now_ns);
  if (open == door_watched_) return;
  watch_(listener_->descriptor(), open ? std::uint32_t{EPOLLIN} : 0, first_tag_);
  door_watched_ = open;
}

void Links::accept_all() {
  const std::uint64_t now_ns = clock_.now_ns();
  for (; door_.open(now_ns) && make_room(now_ns); door_.let_in()) {
    Result<std::unique_ptr<io::Stream>> stream = listener_->accept();
    if (!stream) door_.shut(now_ns);  // no descriptor, no memory: later perhaps
    if (!stream || *stream == nullptr) break;
    if (upstreams_.size() >= max_upstreams) continue;
    const std::uint64_t tag = first_tag_ + next_tag_++;
    strangers_.add(tag, (*stream)->peer(), now_ns);
    auto link = transport::Link::accepting(
        [this](const transport::LinkIntroduction& introduction) { return key_for(introduction); });
    auto from = std::make_unique<Upstream>(
        Upstream{transport::LinkIo(*std::move(stream), std::move(link), times_, clock_.now_ns()), tag});
    Upstream& newest = *upstreams_.emplace(tag, std::move(from)).first->second;
    from_up_.touch(tag);
    pump(newest, now_ns);  // it may have said already who it is
  }
  watch_door(now_ns);
}

bool Links::make_room(std::uint64_t now_ns) {
  for (std::uint64_t oldest = 0;;) {
    const Strangers::Room room = strangers_.room(now_ns, oldest);
    if (room == Strangers::Room::free) return true;
    if (room == Strangers::Room::none_yet) return door_.shut(now_ns), false;
    turn_away(oldest);
  }
}

void Links::turn_away(std::uint64_t tag) {
  const auto place = upstreams_.find(tag);
  if (place->second->watched != 0) watch_(place->second->io.socket(), 0, tag);
  from_up_.forget(tag);
  heard_.erase(tag);
  strangers_.remove(tag);
  upstreams_.erase(place);
  log_refused("others came, and it had named no group of this agent");
}

// A flood of strangers is not to fill the log too.
void Links::log_refused(const std::string& why) {
  constexpr std::uint64_t most_lines = 16;
  if (++refused_ <= most_lines) log_("refused an agent: " + why);
  if (refused_ == most_lines) log_("further ones are refused without a line");
}

// The lowest: Core wants small numbers.
ChannelId Links::free_channel() const {
  ChannelId channel = first_channel;
  while (has(channel) || std::ranges::find(ended_, channel) != ended_.end()) ++channel;
  return channel;
}

bool Links::has(ChannelId channel) const { return upstream_of(channel) != nullptr; }

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
  for (auto tag = heard_.begin(); tag != heard_.end();) {
    const auto place = upstreams_.find(*tag);
    const Drained drained = drain(*place->second, core, requests);
    if (drained == Drained::core_is_full) result = drained;
    if (drained == Drained::core_is_full || drained == Drained::held) {
      ++tag;
      continue;
    }
    tag = heard_.erase(tag);
    if (drained == Drained::done) continue;
    from_up_.forget(place->first);
    upstreams_.erase(place);
  }
  return result;
}

// Broken: it is over.
Drained Links::drain(Upstream& from, Core& core, std::vector<PendingRequest>& requests) {
  std::string why;
  Drained drained = Drained::done;
  if (from.io.link().established()) {
    if (!from.joined && !enroll(from, core)) {
      drained = Drained::broken;
      why = "the file is not open here";
    } else {
      drained = take_frames(from, core, requests, why);
    }
  }
  const bool waits = drained == Drained::core_is_full || drained == Drained::held;
  if (waits || (drained == Drained::done && from.io.status().ok())) return drained;
  end(from, core, drained == Drained::broken ? why : from.io.reason());
  if (from.watched != 0) watch_(from.io.socket(), 0, from.tag);
  return Drained::broken;
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
    ++records_;
    return Drained::done;
  }
  const Core::Bundled bundled =
      core.write_bundle(from.channel, from.file, frame.offset, payload, from.bundle);
  records_ += bundled.records;
  return drained(bundled.end);
}

Drained Links::take_frames(Upstream& from, Core& core, std::vector<PendingRequest>& requests,
                           std::string& why) {
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
    touch(from);  // there is room again
  }
  return Drained::done;
}

void Links::end(Upstream& from, Core& core, const std::string& why) {
  if (!from.joined) {
    strangers_.remove(from.tag);
    if (from.io.heard()) log_refused(why);  // else somebody tried whether it can be reached
    return;
  }
  joined_.erase(from.channel);
  ended_.push_back(from.channel);
  if (!from.closed) log_("lost an agent upstream: " + why);
  core.abandon(from.channel);
}

Links::Upstream* Links::upstream_of(ChannelId channel) const {
  const auto place = joined_.find(channel);
  return place == joined_.end() ? nullptr : place->second;
}

std::uint64_t Links::deadline_ns() const {
  const std::uint64_t door_ns = door_watched_ ? UINT64_MAX : door_.opens_ns();
  return std::min({from_up_.deadline_ns(), to_down_->deadline_ns(), door_ns});
}

bool Links::idle() const { return joined_.empty() && downstreams_.empty(); }

}  // namespace millrace::agent
