// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <chrono>

namespace millrace::io {

// Lets other processes run between two pieces of work. If ranks outnumber the processors, a thread that
// copies for them would otherwise keep a processor for its whole time slice, and ranks that meet would wait
// for the rank that needs it. The pause is short if the ranks yield too. A rank that polls takes its whole
// slice. So the thread gives away no more time than it has worked, and is at most half as fast. Pieces
// shorter than the cost of the system call are counted together.
class GiveWay {
 public:
  using Clock = std::chrono::steady_clock;

  void begin() { begin(Clock::now()); }
  void between() {
    if (!is_due(Clock::now())) return;
    ::sched_yield();
    is_back(Clock::now());
  }

  // The same with the caller's times: work begins; has gone on until now (true: other processes may run);
  // goes on now.
  void begin(Clock::time_point now) { since_ = now; }
  bool is_due(Clock::time_point now) {
    worked_ += now - since_;
    since_ = now;
    return given_ <= worked_ && worked_ - last_chance_ >= least;
  }
  void is_back(Clock::time_point now) {
    given_ += now - since_;
    since_ = now;
    if (worked_ >= remembered) {
      worked_ /= 2;
      given_ /= 2;
    }
    last_chance_ = worked_;
  }

 private:
  static constexpr Clock::duration remembered = std::chrono::milliseconds(100);
  static constexpr Clock::duration least = std::chrono::microseconds(10);  // giving way to nobody takes 1

  Clock::time_point since_;
  Clock::duration worked_{};
  Clock::duration given_{};
  Clock::duration last_chance_{};  // the time worked at the last chance
};

}  // namespace millrace::io
