// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/virtual/timeline.hpp"

#include <algorithm>

namespace millrace::io {

Timeline::Event Timeline::at(std::uint64_t time_ns, std::function<void()> act) {
  const Event event{std::max(time_ns, now_ns_), next_++};
  events_.push_back({event, std::move(act)});
  std::ranges::push_heap(events_, later);
  return event;
}

Timeline::Event Timeline::after(std::uint64_t span_ns, std::function<void()> act) {
  return at(span_ns > UINT64_MAX - now_ns_ ? UINT64_MAX : now_ns_ + span_ns, std::move(act));
}

void Timeline::cancel(const Event& event) {
  if (event.first >= now_ns_) cancelled_.insert(event.second);
}

void Timeline::drop_cancelled() {
  while (!events_.empty() && !cancelled_.empty() && cancelled_.erase(events_.front().event.second) > 0) {
    std::ranges::pop_heap(events_, later);
    events_.pop_back();
  }
}

bool Timeline::step(std::uint64_t until_ns) {
  drop_cancelled();
  if (events_.empty() || events_.front().event.first > until_ns) return false;
  std::ranges::pop_heap(events_, later);
  const Planned next = std::move(events_.back());
  events_.pop_back();
  now_ns_ = next.event.first;
  next.act();
  return true;
}

}  // namespace millrace::io
