// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "plain/backlog.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace millrace::plain {
namespace {

class BacklogTest : public ::testing::Test {
 protected:
  BacklogTest() { backlog->set_memory(memory.data(), memory.size()); }

  std::size_t put(const std::string& data, off_t at) {
    return backlog->put(0, data.data(), data.size(), at, joined);
  }
  std::string take() {
    const Backlog::Request& request = backlog->claim();
    std::string data(request.data, request.bytes);
    backlog->done();
    return data;
  }

  std::string memory = std::string(100, 0);
  std::unique_ptr<Backlog> backlog = std::make_unique<Backlog>();
  bool joined = false;
};

TEST_F(BacklogTest, WhatGoesInFirstComesOutFirst) {
  EXPECT_EQ(put("one", 0), 3U);
  EXPECT_EQ(put("three", 100), 5U);
  EXPECT_EQ(take(), "one");
  EXPECT_EQ(take(), "three");
  EXPECT_TRUE(backlog->empty());
}

TEST_F(BacklogTest, NeighboursBecomeOneRequest) {
  put("one", 0);
  put("two", 3);
  EXPECT_TRUE(joined);
  EXPECT_EQ(take(), "onetwo");
}

TEST_F(BacklogTest, WhatDoesNotFitIsLeft) {
  EXPECT_EQ(put(std::string(150, 'x'), 0), 100U);
  EXPECT_EQ(put("y", 150), 0U);
  EXPECT_EQ(take(), std::string(100, 'x'));
  EXPECT_EQ(put("y", 150), 1U);
}

TEST_F(BacklogTest, AnEmptyOneBeginsWhereItsMemoryWasUsedBefore) {
  for (int i = 0; i < 5; ++i) {
    put("some bytes", 1000 * i);
    EXPECT_EQ(backlog->claim().data, memory.data());
    EXPECT_EQ(take(), "some bytes");
  }
  put("first", 0);
  backlog->claim();
  put("second", 77);  // the bytes of a claimed request stay in their place
  EXPECT_EQ(take(), "first");
  EXPECT_EQ(take(), "second");
}

}  // namespace
}  // namespace millrace::plain
