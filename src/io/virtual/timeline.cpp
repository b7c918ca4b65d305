// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/virtual/timeline.hpp"

#include <algorithm>

namespace millrace::io {

Timeline::Event Timeline::at(std::uint64_t time_ns, std::function<void()> act) {
  const Event event{std::max(time_ns, now_ns_), next_++};
  events_.emplace(event, std::move(act));
  return event;
}

Timeline::Event Timeline::after(std::uint64_t span_ns, std::function<void()> act) {
  return at(span_ns > UINT64_MAX - now_ns_ ? UINT64_MAX : now_ns_ + span_ns, std::move(act));
}

bool Timeline::step(std::uint64_t until_ns) {
  if (events_.empty() || events_.begin()->first.first > until_ns) return false;
  auto event = events_.extract(events_.begin());
  now_ns_ = event.key().first;
  event.mapped()();
  return true;
}

}  // namespace millrace::io
