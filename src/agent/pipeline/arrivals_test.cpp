// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/pipeline/arrivals.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/settings.hpp"

namespace millrace::agent {
namespace {

const std::vector<std::byte> record(100, std::byte{1});

TEST(ArrivalsTest, RecordsThatFollowEachOtherAreOneSegment) {
  BlockPool pool(1 * MiB, 4 * KiB);
  Arrivals arrivals(pool);
  EXPECT_EQ(arrivals.add(500, record), 100U);
  EXPECT_EQ(arrivals.add(600, record), 100U);
  EXPECT_EQ(arrivals.add(300, record), 100U);
  ASSERT_EQ(arrivals.segments().size(), 2U);
  EXPECT_EQ(arrivals.segments()[0].length, 200U);
  EXPECT_EQ(arrivals.segments()[1].offset, 300U);
  EXPECT_EQ(arrivals.hull(), (Extent{300, 700}));
}

TEST(ArrivalsTest, TakesAsMuchOfARecordAsFits) {
  BlockPool pool(1 * MiB, 4 * KiB);
  Arrivals arrivals(pool);
  const std::vector<std::byte> large(5000, std::byte{1});
  EXPECT_EQ(arrivals.add(0, large), 4096U);
  EXPECT_TRUE(arrivals.full());
}

TEST(ArrivalsTest, IsFullWhenItHasTooManySegments) {
  BlockPool pool(1 * MiB, 64 * KiB);
  Arrivals arrivals(pool);
  for (std::uint64_t i = 0; i < 4096; ++i) {
    ASSERT_FALSE(arrivals.full());
    arrivals.add(2 * i, std::span(record).first(1));
  }
  EXPECT_TRUE(arrivals.full());
}

TEST(ArrivalsTest, BeginsAnotherBlockAfterLettingOneGo) {
  BlockPool pool(1 * MiB, 4 * KiB);
  Arrivals arrivals(pool);
  EXPECT_EQ(arrivals.blocks(), 0U);
  arrivals.add(0, record);
  const std::uint32_t block = arrivals.block();
  arrivals.let_go();
  EXPECT_EQ(arrivals.blocks(), 0U);
  EXPECT_TRUE(arrivals.empty());
  arrivals.add(0, record);
  EXPECT_NE(arrivals.block(), block) << "the first one is somebody else's";
}

}  // namespace
}  // namespace millrace::agent
