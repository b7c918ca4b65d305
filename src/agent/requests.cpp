// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/requests.hpp"

#include <algorithm>

namespace millrace::agent {

namespace {

constexpr std::uint64_t silence_ns = 100'000'000;  // a rank that sends nothing for so long is not waited for
constexpr std::uint64_t worth_waiting_bytes = 8 * MiB;
constexpr std::uint64_t gather_max_ns = 2'000'000'000;  // and no rank for longer than this

}  // namespace

void Requests::join(ChannelId channel, std::uint64_t group, std::uint32_t expected) {
  members_.push_back({channel, group});
  auto known = std::ranges::find(groups_, group, &Group::number);
  if (known == groups_.end()) known = groups_.insert(known, {group, expected, 0});
  ++known->joined;
  ++members_seen_;
  settled_ = false;
}

// A channel may have a file open twice. Requests do not say which; ranks of one group ask in one order, so
// the oldest one that is not closing is the same for all of them.
Requests::Member* Requests::member(ChannelId channel) {
  for (Member& m : members_) {
    if (m.channel == channel && !m.closing) return &m;
  }
  return nullptr;
}

Requests::Waiter& Requests::add(Kind kind, ChannelId channel, std::uint32_t request) {
  const Member* who = member(channel);
  const std::uint64_t group = who != nullptr ? who->group : 0;
  const std::uint32_t round = who != nullptr ? who->round : 0;
  const auto place = waiters_.emplace_hint(waiters_.end(), next_waiter_++,
                                           Waiter{kind, Step::gather, channel, request, group, round});
  return place->second;
}

void Requests::flush(ChannelId channel, std::uint32_t request, Extent extent) {
  ++counters_.flushes;
  Waiter& waiter = add(Kind::flush, channel, request);
  waiter.step = Step::drain;
  waiter.extent = extent;
  pipeline_.depart(extent);
  waiter.departures = pipeline_.watch(extent, next_waiter_ - 1);
}

void Requests::sync(ChannelId channel, std::uint32_t request) {
  ++counters_.syncs;
  if (Member* who = member(channel)) ++who->round;
  add(Kind::sync, channel, request);
}

void Requests::close(ChannelId channel, std::uint32_t request, const transport::ClientCounters& counters) {
  ++counters_.closes;
  clients_.calls += counters.calls;
  clients_.direct_calls += counters.direct_calls;
  clients_.pieces += counters.pieces;
  clients_.bytes += counters.bytes;
  clients_.direct_bytes += counters.direct_bytes;
  clients_.copy_ns += counters.copy_ns;
  clients_.wait_ns += counters.wait_ns;
  add(Kind::close, channel, request);
  if (Member* who = member(channel)) who->closing = true;
}

void Requests::abandon(ChannelId channel) {
  for (auto& [id, waiter] : waiters_) {
    if (waiter.channel == channel) waiter.answer = false;
  }
  for (std::size_t i = 0; i < members_.size();) {
    const Member gone = members_[i];
    if (gone.channel != channel || gone.closing) {  // who has asked to close leaves with its waiter
      ++i;
      continue;
    }
    members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(i));
    for (Member& m : members_) {
      if (m.group == gone.group && m.channel != channel) m.lost_peer = true;
    }
  }
}

// Whether ranks that have the file open have not come yet, and much would leave complete if they did.
bool Requests::incomplete(std::uint64_t group) const {
  const auto known = std::ranges::find(groups_, group, &Group::number);
  return known != groups_.end() && known->joined < known->expected &&
         pipeline_.partial_bytes() >= worth_waiting_bytes;
}

std::uint64_t Requests::gather_until_ns(const Waiter& waiter) const {
  std::uint64_t until =
      waiter.kind != Kind::flush && incomplete(waiter.group) ? waiter.start_ns + silence_ns : 0;
  for (const Member& m : members_) {
    const bool here = m.closing || (waiter.kind == Kind::sync && m.round >= waiter.round);
    if (m.group != waiter.group || m.channel == waiter.channel || here) continue;
    const std::uint64_t heard = m.channel < channels_.size() ? channels_[m.channel].last_ns : 0;
    until = std::max(until, std::max(waiter.start_ns, heard) + silence_ns);
  }
  return std::min(until, waiter.start_ns + gather_max_ns);
}

bool Requests::step_gather(std::uint64_t now_ns) {
  bool any = false;
  for (auto& [id, waiter] : waiters_) {
    if (!waiter.started) {
      waiter.started = true;
      waiter.start_ns = waiter.since_ns = now_ns;
    }
    if (waiter.step != Step::gather || gather_until_ns(waiter) > now_ns) continue;
    counters_.gather_ns += now_ns - waiter.since_ns;
    waiter.step = Step::drain;
    waiter.since_ns = now_ns;
    pipeline_.depart(everything);
    waiter.departures = pipeline_.watch(everything, id);
    any = true;
  }
  return any;
}

// A sync has nothing to do for bytes that ranks wrote directly: the MPI library's own follows.
bool Requests::wants_sync(const Waiter& waiter) const {
  return (waiter.kind == Kind::sync && (pipeline_.unsynced() || sync_ticket_ != 0)) ||
         (waiter.kind == Kind::close && pipeline_.settings().durability == Durability::disk);
}

void Requests::answer(const Waiter& waiter, std::vector<Reply>& replies) {
  Status status = pipeline_.error();
  for (Member& m : members_) {
    if (m.channel != waiter.channel || m.group != waiter.group || !m.lost_peer) continue;
    if (status.ok()) status = Code::lost_peer;
    m.lost_peer = false;
  }
  if (waiter.answer) replies.push_back({waiter.channel, waiter.request, status});
  if (waiter.kind != Kind::close) return;
  const auto leaves = std::find_if(members_.begin(), members_.end(), [&](const Member& m) {
    return m.channel == waiter.channel && m.group == waiter.group && m.closing;
  });
  if (leaves != members_.end()) members_.erase(leaves);
}

bool Requests::step_drain(std::uint64_t now_ns, std::vector<Reply>& replies) {
  finished_.clear();
  pipeline_.take_finished(finished_);
  for (const WaiterId id : finished_) {
    const auto found = waiters_.find(id);
    if (found != waiters_.end()) --found->second.departures;
  }
  bool any = false;
  for (auto place = waiters_.begin(); place != waiters_.end();) {
    Waiter& waiter = place->second;
    if (waiter.step != Step::drain || waiter.departures > 0) {
      ++place;
      continue;
    }
    any = true;
    counters_.drain_ns += now_ns - waiter.since_ns;
    if (wants_sync(waiter)) {
      waiter.step = Step::settle;
      waiter.since_ns = now_ns;
      ++place;
      continue;
    }
    answer(waiter, replies);
    place = waiters_.erase(place);
  }
  return any;
}

// One datasync at a time; it covers everybody who is at this step when it begins.
bool Requests::step_settle(std::uint64_t now_ns, std::vector<Reply>& replies) {
  bool any = false;
  synced_.clear();
  pipeline_.take_synced(synced_);
  if (sync_ticket_ != 0 && std::find(synced_.begin(), synced_.end(), sync_ticket_) != synced_.end()) {
    any = true;
    sync_ticket_ = 0;
    if (last_sync_) settled_ = true;
    last_sync_ = false;
    for (const WaiterId id : sync_covers_) {
      const auto found = waiters_.find(id);
      counters_.sync_ns += now_ns - found->second.since_ns;
      answer(found->second, replies);
      waiters_.erase(found);
    }
    sync_covers_.clear();
  }
  if (sync_ticket_ != 0) return any;
  for (const auto& [id, waiter] : waiters_) {
    if (waiter.step == Step::settle) sync_covers_.push_back(id);
  }
  if (!sync_covers_.empty()) sync_ticket_ = pipeline_.sync();
  return any || sync_ticket_ != 0;
}

// All have gone, some perhaps without closing: their bytes are written all the same.
bool Requests::settle_after_last() {
  if (!members_.empty() || !waiters_.empty() || settled_ || sync_ticket_ != 0) return false;
  pipeline_.depart(everything);
  if (pipeline_.dirty()) return false;
  if (pipeline_.settings().durability == Durability::disk && pipeline_.error().ok() && pipeline_.unsynced()) {
    sync_ticket_ = pipeline_.sync();
    last_sync_ = true;
  } else {
    settled_ = true;
  }
  return true;
}

bool Requests::advance(std::uint64_t now_ns, std::vector<Reply>& replies) {
  bool any = step_gather(now_ns);
  any |= step_drain(now_ns, replies);
  any |= step_settle(now_ns, replies);
  any |= settle_after_last();
  return any;
}

Stages Requests::stages() const {
  Stages at;
  for (const auto& [id, waiter] : waiters_) {
    at.gather |= waiter.step == Step::gather;
    at.drain |= waiter.step == Step::drain;
    at.settle |= waiter.step == Step::settle;
  }
  return at;
}

std::uint64_t Requests::next_deadline_ns() const {
  std::uint64_t next = UINT64_MAX;
  for (const auto& [id, waiter] : waiters_) {
    if (!waiter.started) return 0;
    if (waiter.step == Step::gather) next = std::min(next, gather_until_ns(waiter));
  }
  return next;
}

}  // namespace millrace::agent
