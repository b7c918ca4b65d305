// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <chrono>

namespace millrace::io {

// Lets other processes run between two pieces of work. With more ranks than processors, a thread that copies
// for ranks would keep a processor for its whole time slice. All ranks that meet would wait for the rank that
// needs this processor. The pause is short if the ranks yield too. But a rank that polls uses its whole
// slice. So the thread gives away no more time than it has worked, and loses at most half of its speed. Short
// pieces of work are counted together, because the system call costs time too. Not thread safe.
class GiveWay {
 public:
  using Steady = std::chrono::steady_clock;

  void begin() { begin(Steady::now()); }
  void between() {
    if (!is_due(Steady::now())) return;
    ::sched_yield();
    is_back(Steady::now());
  }

  // The same with the caller's times. begin(): work begins. is_due(): work has gone on until now; true if
  // other processes may run. is_back(): work goes on now.
  void begin(Steady::time_point now) { since_ = now; }
  bool is_due(Steady::time_point now) {
    worked_ += now - since_;
    since_ = now;
    return given_ <= worked_ && worked_ - last_chance_ >= least;
  }
  void is_back(Steady::time_point now) {
    given_ += now - since_;
    since_ = now;
    if (worked_ >= remembered) {
      worked_ /= 2;
      given_ /= 2;
    }
    last_chance_ = worked_;
  }

 private:
  static constexpr Steady::duration remembered = std::chrono::milliseconds(100);
  // sched_yield takes 1 us if no other process runs.
  static constexpr Steady::duration least = std::chrono::microseconds(10);

  Steady::time_point since_;
  Steady::duration worked_{};
  Steady::duration given_{};
  Steady::duration last_chance_{};  // worked_ at the last sched_yield
};

}  // namespace millrace::io
