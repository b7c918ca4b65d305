// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/way/sequence.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace millrace::client {

std::optional<Foresight::Foreseen> Foresight::next() {
  if (passed_ == steps_[index_].times) {
    if (!repeats_ && index_ + 1 == steps_.size()) return std::nullopt;
    passed_ = 0;
    index_ = (index_ + 1) % steps_.size();
  }
  const Stride& step = steps_[index_];
  ++passed_;
  if (step.gap < 0 && static_cast<std::uint64_t>(-step.gap) > end_) return std::nullopt;
  const Foreseen transfer{end_ + static_cast<std::uint64_t>(step.gap), step.bytes};
  end_ = transfer.position + transfer.bytes;
  return transfer;
}

void Sequence::add(std::uint64_t position, std::uint64_t bytes) {
  const Stride step{static_cast<std::int64_t>(position - end_), bytes};
  end_ = position + bytes;
  bytes_ = bytes;
  if (!std::exchange(begun_, true)) return;
  if (!runs_.empty() && runs_.back().same(step)) {
    ++runs_.back().times;
    if (period_ > 0 ? !came_before(period_) : runs_.back().times == times_before_ + 1) look_back();
    return;
  }
  if (runs_.size() == runs_max) runs_.erase(runs_.begin(), runs_.begin() + runs_max / 2);
  runs_.push_back(step);
  const std::size_t last = runs_.size() - 1;
  const bool goes_on = period_ > 0 && period_ < last && repeats(last - 1, period_) && came_before(period_);
  if (!goes_on) look_back();
}

// True if the last run came `period` runs before too, and was at least as long.
bool Sequence::came_before(std::size_t period) const {
  const Stride& then = runs_[runs_.size() - 1 - period];
  return then.same(runs_.back()) && then.times >= runs_.back().times;
}

// True if a run before the last one repeats the run `period` runs before it. The oldest run may have lost its
// beginning.
bool Sequence::repeats(std::size_t run, std::size_t period) const {
  const Stride& then = runs_[run - period];
  return then.same(runs_[run]) && (then.times == runs_[run].times || run == period);
}

// The number of runs before the last that repeat the runs `period` before them.
std::size_t Sequence::repeated_runs(std::size_t period) const {
  std::size_t run = runs_.size() - 1;
  while (run > period && repeats(run - 1, period)) --run;
  return runs_.size() - 1 - run;
}

// Finds the period after which the runs repeat what came before, as far back as possible. All that lies
// between must repeat, as far as it is known. An inner loop repeats back to its own first step only, so an
// outer loop wins that has been seen once.
void Sequence::look_back() {
  const Stride& now = runs_.back();
  const std::size_t last = runs_.size() - 1;
  period_ = 0;
  times_before_ = 0;
  repeated_bytes_ = 0;
  std::size_t latest = 1;  // the distance to the last run of this step
  while (latest <= last && !runs_[last - latest].same(now)) ++latest;
  if (latest > last) return;
  std::size_t most = 0;
  for (std::size_t period = latest; period <= last; ++period) {
    if (!came_before(period)) continue;
    const std::size_t repeated = repeated_runs(period);
    // The step alone tells nothing, if it has come after something else since.
    const bool tells = repeated > most || (repeated == 0 && period == latest);
    if (!tells || repeated < std::min(period - 1, last - period)) continue;
    period_ = period;
    most = repeated;
  }
  for (std::size_t run = last - period_; run < last; ++run)
    repeated_bytes_ += runs_[run].bytes * runs_[run].times;
  const Stride& before = runs_[last - latest];
  if (period_ > 0 || before.times < std::max(often, now.times)) return;
  times_before_ = before.times;
  repeated_bytes_ = before.times * before.bytes;
}

// True if the last run is expected to go on, though no period is known.
bool Sequence::is_in_run() const {
  const Stride& now = runs_.back();
  if (times_before_ > 0) return now.times < times_before_;
  return now.times >= often || (runs_.size() == 1 && (follows_ || now.times >= 2));
}

std::optional<Foresight> Sequence::foresee() const {
  if (!foresees()) return std::nullopt;
  if (runs_.empty()) return Foresight({{0, bytes_, UINT64_MAX}}, 0, end_, true);
  if (period_ > 0) {
    const auto end = runs_.end() - 1;
    return Foresight({end - static_cast<std::ptrdiff_t>(period_), end}, end->times, end_, true);
  }
  Stride run = runs_.back();
  const std::uint64_t passed = std::exchange(run.times, times_before_ > 0 ? times_before_ : UINT64_MAX);
  return Foresight({run}, passed, end_, false);
}

bool Sequence::foresees() const { return begun_ && (runs_.empty() ? follows_ : period_ > 0 || is_in_run()); }

bool Sequence::expects(std::uint64_t position) const {
  if (!begun_) return true;
  if (!foresees()) return false;
  std::int64_t gap = runs_.empty() ? 0 : runs_.back().gap;
  if (period_ > 0) {
    const auto then = runs_.end() - 1 - static_cast<std::ptrdiff_t>(period_);
    if (then->times == runs_.back().times) gap = std::next(then)->gap;
  }
  return position == end_ + static_cast<std::uint64_t>(gap);
}

}  // namespace millrace::client
