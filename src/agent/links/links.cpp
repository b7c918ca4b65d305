// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/links/links.hpp"

#include <algorithm>
#include <utility>

namespace millrace::agent {

namespace {

// The first number of an agent. Ranks have lower numbers (max_ranks in server/reception.cpp).
constexpr SenderId first_sender = 4096;
constexpr std::size_t max_upstreams = 65536;
// The bound of wanted bytes that wait in a link: enough to keep it busy.
constexpr std::size_t data_backlog_bytes = std::size_t{1} << 20;

}  // namespace

Links::Links(io::Net& net, const io::Clock& clock, Loop::WatchSocket watch, Loop::LogLine log,
             std::uint64_t first_tag, const transport::LinkTimes& times)
    : loop_{net, clock, std::move(watch), std::move(log), first_tag, times},
      downstreams_(
          loop_, [this](const transport::LinkIntroduction& from, std::uint64_t signs) { hear(from, signs); }),
      numbers_(first_sender) {}

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

// Forgets groups whose file has ended. Its slot may have another file by now. Nobody waits for the agents of
// a group that only reads, and one of them may be about to connect. It is known for as long as that may take.
void Links::forget_groups(const Core& core) {
  const std::uint64_t now_ns = loop_.clock.now_ns();
  for (auto& [number, group] : groups_) {
    if (group.ended_ns == 0 && core.file_number(group.file) != group.file_number) group.ended_ns = now_ns;
  }
  std::erase_if(groups_, [&](const auto& entry) {
    const Group& group = entry.second;
    if (group.ended_ns == 0) return false;
    return group.record_max_bytes != 0 || now_ns - group.ended_ns > loop_.times.handshake_ns;
  });
}

void Links::handle(std::uint64_t tag, std::uint32_t events) {
  if (tag == loop_.first_tag) return accept_all();
  if (const auto up = upstreams_.find(tag); up != upstreams_.end()) {
    up->second->socket.events |= events;
    agenda_.touch(tag);
  }
  downstreams_.handle(tag, events);
}

// Visits only links that have something to do: there may be thousands.
void Links::pump(std::uint64_t now_ns) {
  gate_.watch_door(now_ns);
  downstreams_.pump(now_ns);
  for (const std::uint64_t tag : agenda_.take(now_ns)) {
    if (const auto place = upstreams_.find(tag); place != upstreams_.end()) pump(*place->second, now_ns);
  }
}

void Links::pump(Upstream& from, std::uint64_t now_ns) {
  const std::uint64_t tag = from.socket.tag;
  (void)loop_.pump(from.io, from.socket, now_ns);
  loop_.watch_again(from.io, from.socket);
  agenda_.set_deadline(tag, from.io.deadline_ns());
  if (from.io.restless()) from.touch();
  if (!from.known && from.io.link().names_group()) {
    from.known = true;
    gate_.knows(tag);
  }
  heard_.insert(tag);
}

void Links::hear(const transport::LinkIntroduction& from, std::uint64_t signs) {
  progress_ += signs;
  if (const auto group = groups_.find(from.group); group != groups_.end())
    group->second.heard[from.lane] += signs;
}

std::optional<transport::LinkKey> Links::key_for(const transport::LinkIntroduction& introduction) const {
  const auto group = groups_.find(introduction.group);
  if (group == groups_.end() || group->second.node != introduction.to ||
      introduction.lane >= group->second.lanes)
    return std::nullopt;
  return group->second.key;
}

void Links::accept_all() {
  const std::uint64_t now_ns = loop_.clock.now_ns();
  std::uint64_t oldest = 0;
  std::unique_ptr<io::Stream> stream;
  for (Gate::Next next; (next = gate_.next(now_ns, oldest, stream)) != Gate::Next::nobody;) {
    if (next == Gate::Next::makes_way) {
      turn_away(oldest);
      continue;
    }
    if (upstreams_.size() < max_upstreams) {
      const std::uint64_t tag = loop_.new_tag();
      gate_.admit(tag, *stream, now_ns);
      auto link = transport::Link::accepting(
          [this](const transport::LinkIntroduction& introduction) { return key_for(introduction); });
      auto from = std::make_unique<Upstream>(
          Upstream{transport::LinkIo(std::move(stream), std::move(link), loop_.times, loop_.clock.now_ns()),
                   {tag, 0, EPOLLIN},
                   agenda_});
      Upstream& newest = *upstreams_.emplace(tag, std::move(from)).first->second;
      newest.touch();
      pump(newest, now_ns);  // its introduction may have arrived already
    }
    gate_.let_in();
  }
  gate_.watch_door(now_ns);
}

void Links::turn_away(std::uint64_t tag) {
  const auto place = upstreams_.find(tag);
  loop_.unwatch(place->second->io, place->second->socket);
  agenda_.forget(tag);
  heard_.erase(tag);
  gate_.forget(tag);
  upstreams_.erase(place);
  gate_.log_refused("it had named no group of this agent when newer connections came");
}

bool Links::enroll(Upstream& from, Core& core) {
  const transport::LinkIntroduction& who = from.io.link().introduction();
  const auto group = groups_.find(who.group);
  if (group == groups_.end() || group->second.ended_ns != 0) return false;
  const SenderId sender = numbers_.take();
  if (!core.join(sender, group->second.file, who.lane, who.group).ok()) {
    numbers_.give_back(sender);
    return false;
  }
  joined_.emplace(sender, &from);
  from.joined = true;
  from.sender = sender;
  from.file = group->second.file;
  from.lane = who.lane;
  from.record_max_bytes = group->second.record_max_bytes;
  return true;
}

Drained Links::drain(Core& core, std::vector<PendingRequest>& requests) {
  forget_groups(core);
  Drained result = Drained::done;
  std::erase_if(heard_, [&](std::uint64_t tag) {
    const auto place = upstreams_.find(tag);
    const Drained drained = drain(*place->second, core, requests);
    if (drained == Drained::core_is_full) result = drained;
    if (drained == Drained::core_is_full || drained == Drained::held) return false;
    if (drained == Drained::broken) {
      agenda_.forget(tag);
      upstreams_.erase(place);
    }
    return true;
  });
  return result;
}

// Broken: the link has ended.
Drained Links::drain(Upstream& from, Core& core, std::vector<PendingRequest>& requests) {
  std::string why;
  Drained drained = Drained::done;
  if (from.io.link().established()) {
    if (!from.joined && !enroll(from, core)) {
      drained = Drained::broken;
      // Nothing is wrong with an agent that comes after the last reader.
      if (!groups_.contains(from.io.link().introduction().group)) why = "the file is not open here";
    } else {
      drained = from.drain(core, requests, why);
      frames_ += std::exchange(from.frames, 0);
      records_ += std::exchange(from.records, 0);
    }
  }
  const bool waits = drained == Drained::core_is_full || drained == Drained::held;
  if (waits || (drained == Drained::done && from.io.status().ok())) return drained;
  end(from, core, drained == Drained::broken ? why : from.io.reason());
  loop_.unwatch(from.io, from.socket);
  return Drained::broken;
}

void Links::end(Upstream& from, Core& core, const std::string& why) {
  if (!from.joined) {
    gate_.forget(from.socket.tag);
    // A connection without a byte only tested the port. An agent that reads no more hangs up at any time.
    const bool refused = !from.known || !from.io.link().status().ok();
    if (from.io.heard() && refused && !why.empty()) gate_.log_refused(why);
    return;
  }
  joined_.erase(from.sender);
  ended_.push_back(from.sender);
  // An agent that only reads ends its link when its ranks have closed the file.
  if (!from.closed && from.record_max_bytes != 0) loop_.log("lost an agent upstream: " + why);
  core.abandon(from.sender);
}

bool Links::answer(SenderId sender, std::uint32_t request, Status status) {
  const auto to = joined_.find(sender);
  if (to != joined_.end()) to->second->answer(request, status);
  return to != joined_.end();
}

bool Links::has_room(SenderId sender) const {
  const auto to = joined_.find(sender);
  return to != joined_.end() && to->second->io.link().backlog_bytes() < data_backlog_bytes;
}

void Links::wanted(SenderId sender, std::uint32_t request, std::uint32_t position,
                   std::span<const std::byte> bytes) {
  joined_.at(sender)->put_wanted(request, position, bytes);
}

void Links::show_progress(bool own) {
  for (auto& [tag, from] : upstreams_) {
    if (!from->joined || from->closed) continue;
    const auto group = groups_.find(from->io.link().introduction().group);
    const std::uint64_t heard = group != groups_.end() ? group->second.heard[from->lane] : 0;
    if (std::exchange(from->shown, heard) == heard && !own) continue;
    from->answer(Downstream::no_request, {});
  }
}

std::uint64_t Links::deadline_ns() const {
  return std::min({agenda_.deadline_ns(), downstreams_.deadline_ns(), gate_.deadline_ns()});
}

}  // namespace millrace::agent
