// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/sequence.hpp"

#include <utility>

namespace millrace::client {

std::optional<Foresight::Transfer> Foresight::next() {
  if (passed_ == period_[index_].times) {
    passed_ = 0;
    index_ = (index_ + 1) % period_.size();
  }
  const Step& step = period_[index_];
  ++passed_;
  if (step.gap < 0 && static_cast<std::uint64_t>(-step.gap) > end_) return std::nullopt;
  const Transfer transfer{end_ + static_cast<std::uint64_t>(step.gap), step.bytes};
  end_ = transfer.position + transfer.bytes;
  return transfer;
}

void Sequence::add(std::uint64_t position, std::uint64_t bytes) {
  const Step step{static_cast<std::int64_t>(position - end_), bytes};
  end_ = position + bytes;
  bytes_ = bytes;
  if (!std::exchange(begun_, true)) return;
  if (!steps_.empty() && steps_.back().same(step)) {
    ++steps_.back().times;
    return;
  }
  if (steps_.size() == steps_max) steps_.erase(steps_.begin(), steps_.begin() + steps_max / 2);
  steps_.push_back(step);
}

bool Sequence::expects(std::uint64_t position) const {
  if (!begun_) return true;
  std::optional<Foresight> ahead = foresee();
  const std::optional<Foresight::Transfer> next = ahead ? ahead->next() : std::nullopt;
  return next && next->position == position;
}

// True if the last step was taken `period` steps before too, as often at least, and all that lies between
// repeats what came before it, as far as that is known. The oldest step may have lost its beginning.
bool Sequence::repeats_after(std::size_t period) const {
  const std::size_t last = steps_.size() - 1;
  const Step& then = steps_[last - period];
  if (!then.same(steps_[last]) || then.times < steps_[last].times) return false;
  for (std::size_t i = last - 1; i > last - period && i >= period; --i) {
    const Step& before = steps_[i - period];
    if (!before.same(steps_[i]) || (before.times != steps_[i].times && i != period)) return false;
  }
  return true;
}

std::optional<Foresight> Sequence::foresee() const {
  if (!begun_) return std::nullopt;
  if (steps_.empty()) {
    if (!follows_) return std::nullopt;
    return Foresight({{0, bytes_, UINT64_MAX}}, 0, end_);
  }
  const std::size_t last = steps_.size() - 1;
  for (std::size_t period = 1; period <= last; ++period) {
    if (!repeats_after(period)) continue;
    const auto begin = steps_.begin() + static_cast<std::ptrdiff_t>(last - period);
    return Foresight({begin, steps_.end() - 1}, steps_[last].times, end_);
  }
  if (steps_[last].times < often && (last > 0 || steps_[last].times < 2) && !(follows_ && last == 0))
    return std::nullopt;
  return Foresight({{steps_[last].gap, steps_[last].bytes, UINT64_MAX}}, 0, end_);
}

}  // namespace millrace::client
