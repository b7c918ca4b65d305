// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/requests/requests.hpp"

#include <algorithm>
#include <utility>

namespace millrace::agent {

namespace {

constexpr ChannelId no_channel = UINT32_MAX;
constexpr std::uint64_t silence_ns = 100'000'000;  // a rank that sends nothing for so long is not waited for
constexpr std::uint64_t worth_waiting_bytes = 8 * MiB;
constexpr std::uint64_t gather_max_ns = 2'000'000'000;  // and no rank for longer than this
// An agent whose records still come in has a link's bandwidth between its ranks and here.
constexpr std::uint64_t gather_upstream_max_ns = 600'000'000'000;

}  // namespace

void Requests::join(ChannelId channel, std::uint64_t group, std::uint32_t expected, bool upstream) {
  members_.push_back({channel, group, upstream});
  auto known = std::ranges::find(groups_, group, &Group::number);
  if (known == groups_.end()) known = groups_.insert(known, {group, expected, 0});
  ++known->joined;
  ++(upstream ? upstreams_seen_ : members_seen_);
  if (upstream && awaited_ > 0) --awaited_;
  settled_ = passed_close_ = false;
}

bool Requests::has(ChannelId channel) const {
  return std::ranges::find(members_, channel, &Member::channel) != members_.end();
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

void Requests::arrive(ChannelId channel, std::uint32_t request) {
  Waiter& waiter = add(Kind::arrive, channel, request);
  waiter.step = Step::drain;
  if (!pipeline_.carries()) return;
  pipeline_.depart(everything);
  waiter.departures = pipeline_.watch(everything, next_waiter_ - 1);
}

void Requests::sync(ChannelId channel, std::uint32_t request) {
  ++counters_.syncs;
  if (Member* who = member(channel)) {
    ++who->round;
    who->mark = 0;
  }
  add(Kind::sync, channel, request);
}

void Requests::fetch(ChannelId channel, std::uint32_t request, Extent extent) {
  Waiter& waiter = add(Kind::fetch, channel, request);
  waiter.step = Step::drain;
  waiter.extent = extent;
  const Extent before = fetches_->depends_on(pipeline_, extent);
  pipeline_.depart(before);
  waiter.departures = pipeline_.watch(before, next_waiter_ - 1);
}

void Requests::begin_fetch(WaiterId id, const Waiter& waiter) {
  const auto upstream = [&](const Member& m) { return m.channel == waiter.channel && m.upstream; };
  fetches_->begin(
      {id, waiter.channel, waiter.request, waiter.extent, std::ranges::any_of(members_, upstream)});
}

void Requests::settle_all() { add(Kind::sync, no_channel, 0).answer = false; }

bool Requests::settles_all() const {
  return std::ranges::any_of(waiters_, [](const auto& one) { return one.second.channel == no_channel; });
}

bool Requests::take_lost_peer(ChannelId channel) {
  Member* who = member(channel);
  return who != nullptr && std::exchange(who->lost_peer, false);
}

void Requests::close(ChannelId channel, std::uint32_t request, const transport::ClientCounters& counters,
                     bool answered) {
  ++counters_.closes;
  clients_.calls += counters.calls;
  clients_.direct_calls += counters.direct_calls;
  clients_.pieces += counters.pieces;
  clients_.bytes += counters.bytes;
  clients_.direct_bytes += counters.direct_bytes;
  clients_.copy_ns += counters.copy_ns;
  clients_.wait_ns += counters.wait_ns;
  add(Kind::close, channel, request).answer = answered;
  if (Member* who = member(channel)) who->closing = true;
}

void Requests::abandon(ChannelId channel) {
  if (fetches_ != nullptr) fetches_->abandon(channel);
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
    if (gone.upstream) awaited_ = 0;  // the job is broken: who has not come yet may never come
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

// Agents upstream that keep their records until they are asked are silent while they wait for their own ranks
// and upstreams: what all of them hold is to leave as one run.
bool Requests::upstreams_hold() const {
  const Strategy strategy = pipeline_.settings().strategy;
  return strategy == Strategy::sort || strategy == Strategy::journal;
}

std::uint64_t Requests::gather_until_ns(const Waiter& waiter) const {
  std::uint64_t until =
      waiter.kind != Kind::flush && incomplete(waiter.group) ? waiter.start_ns + silence_ns : 0;
  if (waiter.kind != Kind::flush && awaited_ > 0 && upstreams_hold()) until = waiter.start_ns + gather_max_ns;
  for (const Member& m : members_) {
    if (asked_too(m, waiter)) continue;
    std::uint64_t heard = m.channel < channels_.size() ? channels_[m.channel].last_ns : 0;
    if (m.upstream) heard = std::max(heard, pipeline_.swept_ns());  // it may have to wait for us
    const std::uint64_t longest = m.upstream ? gather_upstream_max_ns : gather_max_ns;
    const std::uint64_t silence = m.upstream && upstreams_hold() ? gather_max_ns : silence_ns;
    until = std::max(until, std::min(std::max(waiter.start_ns, heard) + silence, waiter.start_ns + longest));
  }
  return until;
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
    waiter.since_ns = now_ns;
    any = true;
    if (merges()) {
      waiter.step = Step::sweep;
    } else {
      drain(id, waiter);
    }
  }
  return any;
}

void Requests::drain(WaiterId id, Waiter& waiter) {
  waiter.step = Step::drain;
  pipeline_.depart(everything);
  waiter.departures = pipeline_.watch(everything, id);
}

// A sync has nothing to do for bytes that ranks wrote directly: the MPI library's own follows. The next agent
// hears of every sync and close, for it waits for them as for those of its own ranks; and of every flush,
// which may be for bytes of other nodes.
bool Requests::wants_settling(const Waiter& waiter) const {
  if (pipeline_.carries()) return true;
  return (waiter.kind == Kind::sync && (pipeline_.unsettled() || settle_ticket_ != 0)) ||
         (waiter.kind == Kind::close && ends_on_disk(pipeline_.settings()));
}

void Requests::answer(const Waiter& waiter, std::vector<Reply>& replies) {
  Status status = pipeline_.error();
  if (status.ok()) status = waiter.status;
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
    if (waiter.kind == Kind::fetch) {
      waiter.step = Step::fetch;
      begin_fetch(place->first, waiter);
      ++place;
      continue;
    }
    if (wants_settling(waiter)) {
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

bool Requests::step_fetch(std::vector<Reply>& replies) {
  if (fetches_ == nullptr) return false;
  const bool moved = fetches_->advance(pipeline_);
  fetched_.clear();
  fetches_->take(fetched_);
  for (const Fetches::Done& done : fetched_) {
    const auto found = waiters_.find(done.waiter);
    if (found == waiters_.end()) continue;
    found->second.status = done.status;
    answer(found->second, replies);
    waiters_.erase(found);
  }
  return moved || !fetched_.empty();
}

// One settling at a time; it covers everybody who is at this step when it begins.
bool Requests::step_settle(std::uint64_t now_ns, std::vector<Reply>& replies) {
  bool any = false;
  settled_tickets_.clear();
  pipeline_.take_settled(settled_tickets_);
  if (settle_ticket_ != 0 && std::ranges::find(settled_tickets_, settle_ticket_) != settled_tickets_.end()) {
    any = true;
    settle_ticket_ = 0;
    if (last_settle_) settled_ = true;
    last_settle_ = false;
    for (const WaiterId id : settle_covers_) {
      const auto found = waiters_.find(id);
      counters_.sync_ns += now_ns - found->second.since_ns;
      answer(found->second, replies);
      waiters_.erase(found);
    }
    settle_covers_.clear();
  }
  if (settle_ticket_ != 0) return any;
  if (passed_close_ && pipeline_.carries()) return answer_late(replies) || any;
  begin_settling();
  return any || settle_ticket_ != 0;
}

// The next agent has answered the last close: all is in the file, and the link is closed. A guest may still
// ask, for which nobody keeps the file open.
bool Requests::answer_late(std::vector<Reply>& replies) {
  return std::erase_if(waiters_, [&](const auto& entry) {
           const Waiter& waiter = entry.second;
           if (waiter.step == Step::settle) answer(waiter, replies);
           return waiter.step == Step::settle;
         }) > 0;
}

// What the strongest of those at this step asks for; close only if nobody stays behind.
void Requests::begin_settling() {
  std::size_t closing = 0;
  bool stable = false, lands = false;
  Extent extent;
  for (const auto& [id, waiter] : waiters_) {
    if (waiter.step != Step::settle) continue;
    settle_covers_.push_back(id);
    closing += waiter.kind == Kind::close ? 1 : 0;
    stable |= waiter.kind == Kind::sync || (waiter.kind == Kind::close && ends_on_disk(pipeline_.settings()));
    lands |= waiter.kind != Kind::arrive;
    extent = hull(extent, waiter.extent);
  }
  if (settle_covers_.empty()) return;
  const bool last = closing > 0 && closing == members_.size() && awaited_ == 0;
  const auto kind = last     ? transport::Kind::close
                    : stable ? transport::Kind::sync
                    : lands  ? transport::Kind::flush
                             : transport::Kind::arrive;
  settle_ticket_ = pipeline_.settle(kind, stable || last ? everything : extent);
  passed_close_ |= last;
}

// All have gone, some perhaps without closing: their bytes are written all the same.
bool Requests::settle_after_last() {
  if (!nobody() || settled_ || settle_ticket_ != 0) return false;
  pipeline_.depart(everything);  // also while agents are awaited: they may never come
  if (pipeline_.holds() || awaited_ > 0) return false;
  const bool unstable = ends_on_disk(pipeline_.settings()) && pipeline_.error().ok() && pipeline_.unsettled();
  const bool untold = pipeline_.carries() && !passed_close_;
  if (unstable || untold) {
    settle_ticket_ =
        pipeline_.settle(pipeline_.carries() ? transport::Kind::close : transport::Kind::sync, everything);
    last_settle_ = passed_close_ = true;
  } else {
    settled_ = true;
  }
  return true;
}

// An agent that has not come long after the open, when everybody else has gone, is lost. It is not waited for
// from then on only: agents wait for each other, and their bounds would add up.
void Requests::give_up_awaiting(std::uint64_t now_ns) {
  if (begun_ns_ == 0) begun_ns_ = now_ns;
  if (pipeline_.carries() && !pipeline_.error().ok()) awaited_ = 0;  // nothing could be passed on
  if (nobody() && now_ns - begun_ns_ >= transport::await_ns) awaited_ = 0;
}

bool Requests::advance(std::uint64_t now_ns, std::vector<Reply>& replies) {
  give_up_awaiting(now_ns);
  now_ns_ = now_ns;
  bool any = step_gather(now_ns);
  any |= step_sweep();
  any |= step_drain(now_ns, replies);
  any |= step_settle(now_ns, replies);
  any |= step_fetch(replies);
  any |= settle_after_last();
  return any;
}

Stages Requests::stages() const {
  Stages at;
  for (const auto& [id, waiter] : waiters_) {
    at.gather |= waiter.step == Step::gather;
    at.drain |= waiter.step == Step::sweep || waiter.step == Step::drain;
    at.settle |= waiter.step == Step::settle;
  }
  return at;
}

std::uint64_t Requests::next_deadline_ns() const {
  std::uint64_t next = nobody() && awaited_ > 0 ? begun_ns_ + transport::await_ns : UINT64_MAX;
  for (const auto& [id, waiter] : waiters_) {
    if (!waiter.started) return 0;
    if (waiter.step == Step::gather) next = std::min(next, gather_until_ns(waiter));
  }
  const std::uint64_t holds_until = merging_ ? pipeline_.swept_ns() + hold_back_ns : 0;
  return holds_until > now_ns_ ? std::min(next, holds_until) : next;
}

}  // namespace millrace::agent
