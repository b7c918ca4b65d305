// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "io/clock.hpp"

namespace millrace::io {

// Virtual time. It stands still while an event runs, and then jumps to the next event. Events at the same
// time run in the order in which they were planned. All random numbers of a run come from here. So the same
// seed gives the same run. Not thread safe.
class Timeline final : public Clock {
 public:
  struct Event {
    std::uint64_t time_ns;
    std::uint64_t number;  // the number in the order of planning
    std::uint32_t slot;    // of its action
  };

  explicit Timeline(std::uint64_t seed) : random_(seed) {}

  std::uint64_t now_ns() const override { return now_ns_; }

  // Plans an event. A past time means now, after the events that are already planned for now.
  Event at(std::uint64_t time_ns, std::function<void()> act);
  Event after(std::uint64_t span_ns, std::function<void()> act);
  // Has no effect if the event has run or is cancelled.
  void cancel(const Event& event);

  // Runs the next event. False if none is planned up to `until_ns`; then time does not move.
  bool step(std::uint64_t until_ns = UINT64_MAX);
  std::size_t planned() const { return acts_.size() - free_.size(); }

  // A random number in [0, bound); 0 for a bound of 0.
  std::uint64_t below(std::uint64_t bound) { return bound == 0 ? 0 : random_() % bound; }
  bool chance(std::uint64_t one_in) { return below(one_in) == 0; }

 private:
  static bool later(const Event& a, const Event& b) {
    return a.time_ns != b.time_ns ? a.time_ns > b.time_ns : a.number > b.number;
  }
  struct Act {
    std::uint64_t number = 0;  // of its event; 0: the event is cancelled
    std::function<void()> act;
  };
  std::function<void()> take(std::uint32_t slot);
  void drop_cancelled();

  std::uint64_t now_ns_ = 1;
  std::uint64_t next_ = 1;
  std::vector<Event> events_;  // a heap, the next event first; includes cancelled events
  std::vector<Act> acts_;      // by slot
  std::vector<std::uint32_t> free_;
  std::mt19937_64 random_;
};

// The time that `bytes` take at a rate; at least 1 ns.
constexpr std::uint64_t duration_ns(std::uint64_t bytes, std::uint64_t bytes_per_second) {
  constexpr std::uint64_t second = 1'000'000'000;
  if (bytes_per_second == 0) return 1;
  const std::uint64_t whole = bytes / bytes_per_second;
  const std::uint64_t rest = bytes % bytes_per_second;
  // Uses integers only, so that every machine computes the same. Above 18 GB/s, rest * second would overflow.
  const std::uint64_t scale = bytes_per_second > UINT64_MAX / second ? 1000 : 1;
  const std::uint64_t part = rest / scale * second / (bytes_per_second / scale);
  return whole * second + part + 1;
}

}  // namespace millrace::io
