// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/posix/give_way.hpp"

#include <gtest/gtest.h>

namespace millrace::io {
namespace {

using std::chrono::microseconds;

// Works for `piece` between two chances to give way. When the thread gives way, other processes run for
// `others`.
struct Worker {
  microseconds others;
  microseconds piece{20};
  GiveWay way = {};
  GiveWay::Steady::time_point now = {};
  microseconds worked{}, given{};
  int times = 0;

  void pieces(int count) {
    way.begin(now);
    for (int i = 0; i < count; ++i) {
      now += piece;
      worked += piece;
      if (!way.is_due(now)) continue;
      now += others;
      given += others;
      ++times;
      way.is_back(now);
    }
  }
};

TEST(GiveWay, WhoIsShortGetsEveryChance) {
  Worker run{.others = microseconds(5)};
  run.pieces(10'000);
  EXPECT_EQ(run.times, 10'000);
}

TEST(GiveWay, WhoTakesWholeSlicesGetsNoMoreThanHalf) {
  Worker run{.others = microseconds(3'000)};
  run.pieces(10'000);
  EXPECT_GT(run.times, 10);
  EXPECT_LE(run.given, run.worked + 2 * run.others);
}

TEST(GiveWay, ShortCallsAreCountedTogether) {
  Worker run{.others = microseconds(1), .piece = microseconds(1)};
  run.pieces(10'000);
  EXPECT_EQ(run.times, 1'000);
}

TEST(GiveWay, TimeBetweenRequestsCountsForNothing) {
  Worker run{.others = microseconds(3'000)};
  for (int i = 0; i < 100; ++i) {
    run.pieces(1);
    run.now += microseconds(1'000'000);
  }
  EXPECT_LE(run.times, 2);
}

TEST(GiveWay, WhoHasBecomeShortIsTrustedAgain) {
  Worker run{.others = microseconds(3'000)};
  run.pieces(20'000);
  run.others = microseconds(1);
  run.times = 0;
  run.pieces(20'000);
  EXPECT_GT(run.times, 19'000);
}

}  // namespace
}  // namespace millrace::io
