// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/virtual/station.hpp"

#include <gtest/gtest.h>

namespace millrace::io {
namespace {

TEST(Station, TakesOnePieceAfterTheOther) {
  Timeline timeline(1);
  Station link(timeline, {.bytes_per_second = 1'000'000'000, .piece_ns = 10});
  const std::uint64_t now = timeline.now_ns();
  EXPECT_EQ(link.serve(1000, 0), now + 1011);
  EXPECT_EQ(link.serve(1000, 5), now + 1011 + 1016);
  EXPECT_EQ(link.busy_ns(), 2027u);
  EXPECT_EQ(link.bytes(), 2000u);
}

TEST(Station, ServesAsManyAtATimeAsItHasSlots) {
  Timeline timeline(1);
  Station processors(timeline, {.slots = 2, .piece_ns = 100});
  const std::uint64_t now = timeline.now_ns();
  EXPECT_EQ(processors.serve(0, 0), now + 100);
  EXPECT_EQ(processors.serve(0, 0), now + 100);
  EXPECT_EQ(processors.serve(0, 0), now + 200);
}

TEST(Station, CostsMoreForEachThatWaits) {
  Timeline timeline(1);
  Station daemon(timeline, {.piece_ns = 100, .waiting_ns = 10});
  const std::uint64_t now = timeline.now_ns();
  EXPECT_EQ(daemon.serve(0, 0), now + 100);
  EXPECT_EQ(daemon.serve(0, 0), now + 200);  // one piece is served, none waits
  EXPECT_EQ(daemon.serve(0, 0), now + 310);
}

TEST(Station, IsIdleAgainLater) {
  Timeline timeline(1);
  Station link(timeline, {.piece_ns = 100});
  (void)link.serve(0, 0);
  std::uint64_t then = 0;
  timeline.after(1000, [&] { then = link.serve(0, 0); });
  while (timeline.step()) {
  }
  EXPECT_EQ(then, timeline.now_ns() + 100);
}

}  // namespace
}  // namespace millrace::io
