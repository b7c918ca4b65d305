// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/virtual/timeline.hpp"

#include <algorithm>
#include <utility>

namespace millrace::io {

Timeline::Event Timeline::at(std::uint64_t time_ns, std::function<void()> act) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(acts_.size()));
    acts_.emplace_back();
  }
  const Event event{std::max(time_ns, now_ns_), next_++, free_.back()};
  free_.pop_back();
  acts_[event.slot] = {event.number, std::move(act)};
  events_.push_back(event);
  std::ranges::push_heap(events_, later);
  return event;
}

Timeline::Event Timeline::after(std::uint64_t span_ns, std::function<void()> act) {
  return at(span_ns > UINT64_MAX - now_ns_ ? UINT64_MAX : now_ns_ + span_ns, std::move(act));
}

void Timeline::cancel(const Event& event) {
  if (acts_[event.slot].number == event.number) (void)take(event.slot);
}

// Takes the action out of its slot. The slot is free then, and another event may use it at once. The numbers
// distinguish the events.
std::function<void()> Timeline::take(std::uint32_t slot) {
  acts_[slot].number = 0;
  free_.push_back(slot);
  return std::exchange(acts_[slot].act, nullptr);
}

void Timeline::drop_cancelled() {
  while (!events_.empty() && acts_[events_.front().slot].number != events_.front().number) {
    std::ranges::pop_heap(events_, later);
    events_.pop_back();
  }
}

bool Timeline::step(std::uint64_t until_ns) {
  drop_cancelled();
  if (events_.empty() || events_.front().time_ns > until_ns) return false;
  const Event next = events_.front();
  std::ranges::pop_heap(events_, later);
  events_.pop_back();
  now_ns_ = next.time_ns;
  take(next.slot)();
  return true;
}

}  // namespace millrace::io
