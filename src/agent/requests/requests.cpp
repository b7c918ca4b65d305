// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/requests/requests.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "transport/want_list.hpp"

namespace millrace::agent {

using transport::Kind;

namespace {

constexpr SenderId no_sender = UINT32_MAX;

}  // namespace

void Requests::join(SenderId sender, std::uint64_t group, std::uint32_t expected, bool upstream) {
  members_.join(sender, group, expected, upstream);
  settled_ = passed_close_ = withdrawn_ = false;
}

Requests::Waiter& Requests::add(Kind kind, SenderId sender, std::uint32_t request, Step step) {
  const Member* const who = members_.active(sender);
  const Asker asker{kind, sender, request, who != nullptr ? who->group : 0, who != nullptr ? who->round : 0};
  return waiters_.emplace_hint(waiters_.end(), next_waiter_++, Waiter{asker, step})->second;
}

void Requests::ask(Kind kind, SenderId sender, std::uint32_t request, Extent extent) {
  if (kind == Kind::sync) {
    ++counters_.syncs;
    if (Member* const who = members_.active(sender)) {
      ++who->round;
      who->mark = 0;
    }
    add(kind, sender, request, Step::gather);
    return;
  }
  if (kind == Kind::flush) ++counters_.flushes;
  if (kind == Kind::arrive) extent = everything;
  Waiter& waiter = add(kind, sender, request, Step::drain);
  waiter.extent = extent;
  if (kind == Kind::arrive && !pipeline_.carries()) return;
  waiter.departures = pipeline_.depart(extent, next_waiter_ - 1);
}

void Requests::want(SenderId sender, std::uint32_t request, std::vector<ReadPiece> pieces) {
  Waiter& waiter = add(Kind::want, sender, request, Step::drain);
  // Records anywhere may decide the size.
  const bool sized = pieces.back().offset >= transport::size_place.begin;
  waiter.extent =
      sized ? everything : Extent{pieces.front().offset, pieces.back().offset + pieces.back().length};
  waiter.pieces = std::move(pieces);
  waiter.departures = pipeline_.depart(waiter.extent, next_waiter_ - 1);
}

void Requests::settle_all() { add(Kind::sync, no_sender, 0, Step::gather).answer = false; }

bool Requests::settles_all() const {
  return std::ranges::any_of(waiters_, [](const auto& one) { return one.second.sender == no_sender; });
}

void Requests::close(SenderId sender, std::uint32_t request, const transport::ClientCounters& counters,
                     bool answered, bool withdrawn) {
  ++counters_.closes;
  clients_.calls += counters.calls;
  clients_.direct_calls += counters.direct_calls;
  clients_.pieces += counters.pieces;
  clients_.bytes += counters.bytes;
  clients_.direct_bytes += counters.direct_bytes;
  clients_.copy_ns += counters.copy_ns;
  clients_.wait_ns += counters.wait_ns;
  if (!reads_only_) add(Kind::close, sender, request, Step::gather).answer = answered;
  Member* const who = members_.active(sender);
  if (who == nullptr) return;
  // Otherwise another group has the file open too, and its agents may come.
  if (withdrawn && members_.is_only(who->group)) {
    members_.give_up_awaiting();
    withdrawn_ = true;
  }
  who->closing = true;
  if (reads_only_) members_.leave(sender, who->group);
}

void Requests::abandon(SenderId sender) {
  if (reads_ != nullptr) reads_->abandon(sender);
  for (auto& [id, waiter] : waiters_) {
    if (waiter.sender == sender) waiter.answer = false;
  }
  members_.abandon(sender);
}

void Requests::mark(SenderId sender, std::uint64_t offset) {
  if (Member* const who = members_.active(sender)) who->mark = offset;
}

// If the agent's mark is above the lowest chunk that is still here, the merge waits for other agents. If
// these stay silent, the merge ends with the request's wait for them.
bool Requests::ahead(SenderId sender) const {
  const Member* const who = merging_ ? members_.find(sender) : nullptr;
  return who != nullptr && who->upstream && who->mark > pipeline_.sweep().lowest_left();
}

bool Requests::step_gather(std::uint64_t now_ns) {
  bool any = false;
  for (auto& [id, waiter] : waiters_) {
    if (waiter.start_ns == 0) waiter.start_ns = waiter.since_ns = now_ns;
    if (waiter.step != Step::gather || gathering_.until_ns(waiter) > now_ns) continue;
    counters_.gather_ns += now_ns - waiter.since_ns;
    waiter.since_ns = now_ns;
    any = true;
    if (gathering_.merges()) {
      waiter.step = Step::sweep;
    } else {
      drain(id, waiter);
    }
  }
  return any;
}

void Requests::drain(WaiterId id, Waiter& waiter) {
  waiter.step = Step::drain;
  waiter.departures = pipeline_.depart(everything, id);
}

bool Requests::step_sweep() {
  std::optional<std::uint64_t> until;
  bool whole = false;
  for (const auto& [id, waiter] : waiters_) {
    if (waiter.step == Step::gather && gathering_.merges()) {
      const auto its = gathering_.merges_until(waiter);
      if (its && (!until || *its > *until)) until = its;
    }
    whole |= waiter.step == Step::sweep;
  }
  merging_ = !whole && until;
  Sweep& sweep = pipeline_.sweep();
  if (whole) until = UINT64_MAX;
  if (until) {
    sweep.to(*until);
  } else if (sweep.active()) {
    sweep.stop();  // the waiters for which it merged have gone on, or a rank has come
  }
  if (!whole || !sweep.done()) return false;
  for (auto& [id, waiter] : waiters_) {
    if (waiter.step == Step::sweep) drain(id, waiter);
  }
  sweep.stop();
  return true;
}

// The next agent gets every sync and close, because it waits for them as for those of its own ranks. It gets
// every flush, because a flush may concern bytes of other nodes. A sync does not settle bytes that ranks
// wrote directly: the MPI library's own sync follows.
bool Requests::wants_settling(const Waiter& waiter) const {
  if (withdrawn_ && waiter.kind == Kind::close) return false;
  if (pipeline_.carries()) return true;
  return (waiter.kind == Kind::sync && (pipeline_.settlements().unsettled() || settle_ticket_ != 0)) ||
         (waiter.kind == Kind::close &&
          (ends_on_disk(pipeline_.settings()) || pipeline_.settlements().untold() || settle_ticket_ != 0));
}

void Requests::answer(const Waiter& waiter, std::vector<Reply>& replies) {
  Status status = pipeline_.error();
  // A rank or an agent that goes takes no bytes of a file with it that is only read.
  const bool lost = members_.take_lost_peer(waiter.sender, waiter.group) && !reads_only_;
  if (lost && status.ok()) status = Code::lost_peer;
  if (waiter.answer) replies.push_back({waiter.sender, waiter.request, status});
  if (waiter.kind == Kind::close) members_.leave(waiter.sender, waiter.group);
}

bool Requests::step_drain(std::uint64_t now_ns, std::vector<Reply>& replies) {
  for (const WaiterId id : pipeline_.take_finished()) {
    const auto found = waiters_.find(id);
    if (found != waiters_.end()) --found->second.departures;
  }
  bool any = false;
  for (auto& [id, waiter] : waiters_) {
    if (waiter.step != Step::drain || waiter.departures > 0) continue;
    const bool ends = waiter.kind == Kind::sync || waiter.kind == Kind::close;
    if (held_ && ends && !wants_settling(waiter)) continue;
    any = true;
    counters_.drain_ns += now_ns - waiter.since_ns;
    waiter.since_ns = now_ns;
    if (waiter.kind == Kind::want) {
      // A sender that has gone meanwhile has no room for bytes, ever.
      waiter.step = waiter.answer ? Step::read : Step::answered;
      if (waiter.answer) reads_->begin(id, {waiter.sender, waiter.request, std::move(waiter.pieces)});
    } else if (wants_settling(waiter)) {
      waiter.step = Step::settle;
    } else {
      waiter.step = Step::answered;
      answer(waiter, replies);
    }
  }
  std::erase_if(waiters_, [](const auto& one) { return one.second.step == Step::answered; });
  return any;
}

// The answer to a want says nothing of lost agents: its rank reads the file itself, and needs that error
// later.
bool Requests::step_read(std::vector<Reply>& replies) {
  if (reads_ == nullptr) return false;
  const std::vector<Reads::EndedList> over = reads_->take();
  for (const Reads::EndedList& done : over) {
    const auto found = waiters_.find(done.waiter);
    if (found == waiters_.end()) continue;
    const Status status = pipeline_.error().ok() ? done.status : pipeline_.error();
    if (found->second.answer) replies.push_back({found->second.sender, found->second.request, status});
    waiters_.erase(found);
  }
  return !over.empty();
}

// One settling at a time. It covers all requests that are at this step when it begins.
bool Requests::step_settle(std::uint64_t now_ns, std::vector<Reply>& replies) {
  bool any = false;
  const std::vector<sink::Ticket> settled = pipeline_.settlements().take();
  settle_over_ |= settle_ticket_ != 0 && std::ranges::find(settled, settle_ticket_) != settled.end();
  if (settle_over_ && !held_) {
    any = true;
    settle_ticket_ = 0;
    settle_over_ = false;
    if (settle_covers_.empty()) settled_ = true;  // it came from settle_after_last()
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

// The next agent has answered the last close, so all bytes are in the file and the link is closed. A guest
// (docs/ARCHITECTURE.md) may still send a request.
bool Requests::answer_late(std::vector<Reply>& replies) {
  return std::erase_if(waiters_, [&](const auto& entry) {
           const Waiter& waiter = entry.second;
           if (waiter.step == Step::settle) answer(waiter, replies);
           return waiter.step == Step::settle;
         }) > 0;
}

// Settles with the strongest kind among the requests at this step. For the next agent it is close only if no
// member remains. The file itself is asked at every close what close(2) tells.
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
  const bool last = closing > 0 && closing == members_.opens().size() && members_.awaited() == 0;
  const bool closes = last || (closing > 0 && !pipeline_.carries());
  const auto kind = closes   ? transport::Kind::close
                    : stable ? transport::Kind::sync
                    : lands  ? transport::Kind::flush
                             : transport::Kind::arrive;
  settle_ticket_ = pipeline_.settle(kind, stable || closes ? everything : extent, stable);
  passed_close_ |= last;
  if (last && reads_ != nullptr) reads_->drop();
}

// All members have gone, some perhaps without a close. Their bytes are written nevertheless.
bool Requests::settle_after_last() {
  if (!nobody() || settled_ || settle_ticket_ != 0) return false;
  pipeline_.depart(everything);  // also before all agents have come: they may never come
  if (pipeline_.holds() || members_.awaited() > 0) return false;
  const bool unstable =
      ends_on_disk(pipeline_.settings()) && pipeline_.error().ok() && pipeline_.settlements().unsettled();
  const bool untold = pipeline_.carries() ? !passed_close_ && !withdrawn_ : pipeline_.settlements().untold();
  if (unstable || untold) {
    settle_ticket_ = pipeline_.settle(transport::Kind::close, everything, false);
    passed_close_ = true;
  } else {
    settled_ = true;
  }
  return true;
}

// Nobody has the lane open any more, so the lists that are left are guesses that nobody needs. Its link ends
// now, not with the file: the next agent's lane may be one of those for which the file's other lanes wait.
void Requests::give_up_reading() {
  if (!members_.empty() || reads_ == nullptr || !pipeline_.carries()) return;
  reads_->give_up();
  pipeline_.outlet().give_up();
  (void)pipeline_.collect(0);
  pipeline_.settlements().forget_read();
}

namespace {

// An agent is lost if it has not come by this time and no member has the file open. Most of the time counts
// from the open, not from the last close: agents wait for each other, and their bounds would add up.
std::uint64_t awaits_until_ns(std::uint64_t begun_ns, std::uint64_t used_ns) {
  return std::max(begun_ns + transport::await_ns, used_ns + transport::await_closes_ns);
}

}  // namespace

void Requests::give_up_awaiting(std::uint64_t now_ns) {
  if (begun_ns_ == 0) begun_ns_ = now_ns;
  if (!nobody()) used_ns_ = now_ns;
  const bool late = nobody() && now_ns >= awaits_until_ns(begun_ns_, used_ns_);
  const bool in_vain = pipeline_.carries() && !pipeline_.error().ok();  // its records could not be passed on
  if (late || in_vain) members_.give_up_awaiting();
}

bool Requests::advance(std::uint64_t now_ns, bool held, std::vector<Reply>& replies) {
  held_ = held;
  give_up_awaiting(now_ns);
  bool any = step_gather(now_ns);
  any |= step_sweep();
  any |= step_drain(now_ns, replies);
  any |= step_settle(now_ns, replies);
  if (reads_only_) give_up_reading();
  any |= step_read(replies);
  any |= reads_only_ ? nobody() && !std::exchange(settled_, true) : settle_after_last();
  return any;
}

Phases Requests::phases() const {
  Phases at;
  for (const auto& [id, waiter] : waiters_) {
    at.gather |= waiter.step == Step::gather;
    at.drain |= waiter.step == Step::sweep || waiter.step == Step::drain;
    at.settle |= waiter.step == Step::settle;
  }
  return at;
}

std::uint64_t Requests::next_deadline_ns() const {
  std::uint64_t next = nobody() && members_.awaited() > 0 ? awaits_until_ns(begun_ns_, used_ns_) : UINT64_MAX;
  for (const auto& [id, waiter] : waiters_) {
    if (waiter.start_ns == 0) return 0;
    if (waiter.step == Step::gather) next = std::min(next, gathering_.until_ns(waiter));
  }
  return next;
}

}  // namespace millrace::agent
