// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "plain/early.hpp"

#include <gmock/gmock.h>

#include <cerrno>
#include <utility>
#include <vector>

namespace millrace::plain {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr off_t MiB = 1 << 20;
std::vector<std::pair<off_t, off_t>> started;

int start(int, off_t begin, off_t bytes) {
  started.emplace_back(begin, bytes);
  errno = ESPIPE;
  return -1;
}

constexpr Calls calls{.start_writeback = start};

class EarlyTest : public testing::Test {
 protected:
  void SetUp() override { started.clear(); }
  // As a program does that has written and synced a large file.
  static void teach(EarlyWriteback& early) {
    early.wrote(calls, 7, -1, 100 * MiB);
    early.synced(7);
  }
};

TEST_F(EarlyTest, AdviceIsGivenForStepsInARow) {
  EarlyWriteback early;
  teach(early);
  early.wrote(calls, 3, 0, MiB);
  EXPECT_THAT(started, IsEmpty());
  early.wrote(calls, 3, MiB, MiB);
  early.wrote(calls, 3, 2 * MiB, 5 * MiB);
  EXPECT_THAT(started, ElementsAre(Pair(0, 2 * MiB), Pair(2 * MiB, 5 * MiB)));
}

TEST_F(EarlyTest, WritesElsewhereBeginANewRow) {
  EarlyWriteback early;
  teach(early);
  early.wrote(calls, 3, 0, MiB);
  early.wrote(calls, 3, 10 * MiB, MiB);
  early.wrote(calls, 3, 11 * MiB, MiB);
  EXPECT_THAT(started, ElementsAre(Pair(10 * MiB, 2 * MiB)));
}

TEST_F(EarlyTest, DescriptorsHaveRowsOfTheirOwn) {
  EarlyWriteback early;
  teach(early);
  for (off_t at = 0; at < 2 * MiB; at += MiB) {
    early.wrote(calls, 3, at, MiB);
    early.wrote(calls, 4, 50 * MiB + at, MiB);
  }
  EXPECT_THAT(started, ElementsAre(Pair(0, 2 * MiB), Pair(50 * MiB, 2 * MiB)));
}

TEST_F(EarlyTest, MoreDescriptorsThanSlotsLoseAdviceOnly) {
  EarlyWriteback early;
  teach(early);
  for (int fd = 0; fd < 1000; ++fd) early.wrote(calls, fd, 0, MiB);
  EXPECT_THAT(started, IsEmpty());
  early.wrote(calls, 999, MiB, MiB);
  EXPECT_THAT(started, ElementsAre(Pair(0, 2 * MiB)));
}

TEST_F(EarlyTest, WithoutASyncNothingIsDone) {
  EarlyWriteback early;
  early.wrote(calls, 3, 0, 100 * MiB);
  EXPECT_FALSE(early.on());
  EXPECT_THAT(started, IsEmpty());
}

TEST_F(EarlyTest, ASyncOfALargeFileTeaches) {
  EarlyWriteback early;
  early.wrote(calls, 3, -1, 100 * MiB);
  early.synced(3);
  EXPECT_TRUE(early.on());
  early.wrote(calls, 3, 0, 100 * MiB);
  EXPECT_THAT(started, ElementsAre(Pair(0, 100 * MiB)));
}

TEST_F(EarlyTest, ASyncOfAnotherOrASmallFileTeachesNothing) {
  EarlyWriteback early;
  early.wrote(calls, 3, -1, 100 * MiB);
  early.wrote(calls, 4, -1, MiB);
  early.synced(4);
  early.synced(5);
  EXPECT_FALSE(early.on());
}

TEST_F(EarlyTest, AProcessThatSyncsNoMoreIsLeftAlone) {
  EarlyWriteback early;
  early.wrote(calls, 3, -1, 10 * MiB);
  early.synced(3);
  off_t at = 0;
  while (early.on() && at < 1000 * MiB) {
    early.wrote(calls, 4, at, 2 * MiB);
    at += 2 * MiB;
  }
  EXPECT_LE(at, 50 * MiB);
  early.synced(4);
  EXPECT_TRUE(early.on());
}

TEST_F(EarlyTest, OneThatSyncsIsNot) {
  EarlyWriteback early;
  early.wrote(calls, 3, -1, 10 * MiB);
  early.synced(3);
  for (int file = 0; file < 100; ++file) {
    early.wrote(calls, 4, 0, 10 * MiB);
    ASSERT_TRUE(early.on());
    early.synced(4);
  }
}

TEST_F(EarlyTest, OffIsOff) {
  EarlyWriteback early;
  early.turn_off();
  early.wrote(calls, 3, 0, 100 * MiB);
  early.synced(3);
  EXPECT_FALSE(early.on());
}

TEST_F(EarlyTest, ErrnoIsKept) {
  EarlyWriteback early;
  teach(early);
  errno = ENOENT;
  early.wrote(calls, 3, 0, 2 * MiB);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(started.size(), 1U);
}

}  // namespace
}  // namespace millrace::plain
