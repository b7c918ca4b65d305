// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "sink/meter.hpp"

#include <gtest/gtest.h>

namespace millrace::sink {
namespace {

// A machine with given costs of disk and memory. write() makes writes of 1 MiB, and returns the number that
// went past the page cache.
struct Machine {
  std::uint64_t cached_ns = 1'000'000, direct_ns = 1'000'000;  // for 1 MiB
  bool syncs = true;
  Meter meter = {};
  std::uint64_t now_ns = 1;

  std::uint64_t write(std::uint64_t mib) {
    std::uint64_t past = 0;
    if (syncs) meter.synced();
    for (std::uint64_t i = 0; i < mib; ++i) {
      const bool direct = meter.takes_direct(MiB);
      const std::uint64_t ns = direct ? direct_ns : cached_ns;
      meter.took(direct, MiB, now_ns, now_ns + ns);
      now_ns += ns;
      past += direct ? 1 : 0;
    }
    return past;
  }
};

TEST(Meter, SmallFilesNeverWaitForADisk) {
  Machine slow{.cached_ns = 500'000, .direct_ns = 20'000'000};
  EXPECT_EQ(slow.write(8), 0U);
}

TEST(Meter, ASlowDiskIsTriedOnce) {
  Machine slow{.cached_ns = 500'000, .direct_ns = 20'000'000};
  EXPECT_EQ(slow.write(200), 4U);
}

TEST(Meter, AFastDiskIsUsedAfterTheTrial) {
  Machine fast{.cached_ns = 2'000'000, .direct_ns = 700'000};
  EXPECT_EQ(fast.write(200), 200U - 8U);
}

TEST(Meter, WhatIsNotTakenIsTriedAgain) {
  Machine machine{.cached_ns = 500'000, .direct_ns = 700'000};
  EXPECT_EQ(machine.write(200), 4U);
  machine.cached_ns = 3'000'000;  // memory is short
  EXPECT_GT(machine.write(600), 200U);
  machine.cached_ns = 300'000;
  EXPECT_LT(machine.write(1200), 600U);
}

TEST(Meter, WithoutASyncTheFileIsLeftInThePageCache) {
  Machine fast{.cached_ns = 2'000'000, .direct_ns = 700'000, .syncs = false};
  EXPECT_EQ(fast.write(200), 0U);
  fast.syncs = true;
  EXPECT_EQ(fast.write(200), 200U);
}

TEST(Meter, OverlappingWritesCountOnce) {
  Meter meter;
  meter.synced();
  for (int i = 0; i < 8; ++i) (void)meter.takes_direct(MiB);
  for (std::uint64_t i = 0; i < 8; ++i) meter.took(false, MiB, 1 + i * 1000, 1 + (i + 1) * 1000);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(meter.takes_direct(MiB));
  // Each write takes three times as long, but four are in flight at once.
  for (int i = 0; i < 4; ++i) meter.took(true, MiB, 10'000, 13'000);
  EXPECT_TRUE(meter.takes_direct(MiB));
}

TEST(Meter, WithoutTimesEverythingGoesThroughThePageCache) {
  Meter meter;
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(meter.takes_direct(MiB));
    meter.took(false, MiB, 0, 0);
  }
}

}  // namespace
}  // namespace millrace::sink
