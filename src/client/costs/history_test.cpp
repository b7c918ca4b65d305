// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/costs/history.hpp"

#include <gtest/gtest.h>

#include <string>

namespace millrace::client {
namespace {

TEST(History, TheNextFileOfASeriesKnowsTheLastOne) {
  History history;
  EXPECT_EQ(history.of("/d/dump.0001").share, History::unknown);
  EXPECT_EQ(history.of("/d/dump.0001").factors.library, 0U);
  history.read("/d/dump.0001", 50, 200);
  history.wrote("/d/dump.0001", {.library = 4096});
  EXPECT_EQ(history.of("/d/dump.0002").share, 250U);
  EXPECT_EQ(history.of("/d/dump.0002").factors.library, 4096U);
  history.read("/d/dump.0002", 200, 200);
  EXPECT_EQ(history.of("/d/dump.10").share, 1000U);
  EXPECT_EQ(history.of("/d/dump.10").factors.library, 4096U);
  EXPECT_EQ(history.of("/d/plot.0002").share, History::unknown) << "another series";
}

TEST(History, AFileWithoutBytesTellsNothing) {
  History history;
  history.read("/d/dump.1", 0, 0);
  EXPECT_EQ(history.of("/d/dump.1").share, History::unknown);
  history.read("/d/dump.1", UINT64_MAX, 1);
  EXPECT_NE(history.of("/d/dump.1").share, History::unknown);
}

TEST(History, ItKeepsTheLatestSeries) {
  History history;
  const auto name = [](int i) { return std::string(static_cast<std::size_t>(i), 'x'); };
  for (int i = 1; i <= 65; ++i) history.wrote(name(i), {.library = 2048});
  EXPECT_EQ(history.of(name(1)).factors.library, 0U);
  for (int i = 2; i <= 65; ++i) EXPECT_EQ(history.of(name(i)).factors.library, 2048U) << i;
}

}  // namespace
}  // namespace millrace::client
