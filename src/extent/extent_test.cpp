// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "extent/extent.hpp"

#include <gtest/gtest.h>

namespace millrace {
namespace {

constexpr unsigned limit = 7;

// Bit i of the result is set if offset i is in the extent.
unsigned bitmap(Extent e) {
  unsigned bits = 0;
  for (std::uint64_t i = e.begin; i < e.end; ++i) bits |= 1U << i;
  return bits;
}

template <class Check>
void for_all_pairs(Check check) {
  for (std::uint64_t a = 0; a <= limit; ++a) {
    for (std::uint64_t b = a; b <= limit; ++b) {
      for (std::uint64_t c = 0; c <= limit; ++c) {
        for (std::uint64_t d = c; d <= limit; ++d) check(Extent{a, b}, Extent{c, d});
      }
    }
  }
}

TEST(Extent, intersects_and_intersection_agree_with_bitmaps) {
  for_all_pairs([](Extent x, Extent y) {
    const unsigned both = bitmap(x) & bitmap(y);
    EXPECT_EQ(bitmap(intersection(x, y)), both);
    if (!x.empty() && !y.empty()) {
      EXPECT_EQ(x.intersects(y), both != 0);
    }
  });
}

TEST(Extent, contains_agrees_with_bitmaps) {
  for_all_pairs([](Extent x, Extent y) {
    if (!y.empty()) {
      EXPECT_EQ(x.contains(y), (bitmap(y) & ~bitmap(x)) == 0);
    }
  });
}

TEST(Extent, hull_is_the_smallest_that_holds_both) {
  for_all_pairs([](Extent x, Extent y) {
    const Extent around = hull(x, y);
    EXPECT_EQ((bitmap(x) | bitmap(y)) & ~bitmap(around), 0U);
    if (x.empty() && y.empty()) {
      EXPECT_TRUE(around.empty());
    } else {
      const unsigned ends = (1U << around.begin) | (1U << (around.end - 1));
      EXPECT_EQ((bitmap(x) | bitmap(y)) & ends, ends);
    }
  });
}

TEST(Extent, everything_holds_the_last_representable_byte) {
  EXPECT_TRUE(everything.contains({0, 1}));
  EXPECT_TRUE(everything.contains({UINT64_MAX - 1, UINT64_MAX}));
}

}  // namespace
}  // namespace millrace
