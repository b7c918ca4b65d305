// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <chrono>

namespace millrace::io {

// Lets others run between two pieces of work. Where ranks outnumber the processors, a thread that copies for
// them would otherwise keep one for its whole time slice, while ranks that meet wait for the one that is held
// up. It is short where they wait by yielding too. Who polls takes its whole slice: so no more is given away
// than was worked, and the thread is at most half as fast. Calls that are shorter than the system call that
// gives way costs are counted together.
class GiveWay {
 public:
  using Clock = std::chrono::steady_clock;

  void begin() { begin(Clock::now()); }
  void between() {
    if (!is_due(Clock::now())) return;
    ::sched_yield();
    is_back(Clock::now());
  }

  // The same with times from elsewhere: work begins, has gone on until now (true: others may run), goes on
  // now.
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
  Clock::duration last_chance_{};  // when so much had been worked
};

}  // namespace millrace::io
