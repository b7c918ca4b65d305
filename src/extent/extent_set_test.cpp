// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "extent/extent_set.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>

namespace millrace {
namespace {

constexpr unsigned width = 9;  // offsets 0..8: 512 sets x 45 extents, all of them

// The model: bit i is set if offset i is in the set.
using Bits = unsigned;

Bits bits_of(Extent e) {
  Bits bits = 0;
  for (std::uint64_t i = e.begin; i < e.end; ++i) bits |= 1U << i;
  return bits;
}

Bits bits_of(const ExtentSet& set) {
  Bits bits = 0;
  for (const Extent e : set) bits |= bits_of(e);
  return bits;
}

ExtentSet set_of(Bits bits) {
  ExtentSet set;
  for (unsigned i = 0; i < width; ++i) {
    if ((bits >> i & 1U) != 0) set.insert({i, i + 1});
  }
  return set;
}

// Sorted, disjoint, not touching, none empty, and the byte count is right.
void expect_canonical(const ExtentSet& set) {
  std::uint64_t bytes = 0;
  bool first = true;
  std::uint64_t last_end = 0;
  for (const Extent e : set) {
    EXPECT_LT(e.begin, e.end);
    if (!first) {
      EXPECT_GT(e.begin, last_end);
    }
    first = false;
    last_end = e.end;
    bytes += e.size();
  }
  EXPECT_EQ(bytes, set.bytes());
}

template <class Check>
void for_all(Check check) {
  for (Bits bits = 0; bits < (1U << width); ++bits) {
    const ExtentSet set = set_of(bits);
    for (std::uint64_t begin = 0; begin <= width; ++begin) {
      for (std::uint64_t end = begin; end <= width; ++end) check(set, bits, Extent{begin, end});
    }
    if (::testing::Test::HasFailure()) {
      FAIL() << "first failing set: " << std::hex << bits;
    }
  }
}

std::uint64_t ones(Bits bits) { return static_cast<std::uint64_t>(std::popcount(bits)); }

TEST(ExtentSet, insert_agrees_with_a_bitmap_for_all_small_sets) {
  for_all([](ExtentSet set, Bits bits, Extent extent) {
    const std::uint64_t added = set.insert(extent);
    EXPECT_EQ(bits_of(set), bits | bits_of(extent));
    EXPECT_EQ(added, ones(bits_of(extent) & ~bits));
    expect_canonical(set);
  });
}

TEST(ExtentSet, subtract_agrees_with_a_bitmap_for_all_small_sets) {
  for_all([](ExtentSet set, Bits bits, Extent extent) {
    const std::uint64_t removed = set.subtract(extent);
    EXPECT_EQ(bits_of(set), bits & ~bits_of(extent));
    EXPECT_EQ(removed, ones(bits & bits_of(extent)));
    expect_canonical(set);
  });
}

TEST(ExtentSet, questions_agree_with_a_bitmap_for_all_small_sets) {
  for_all([](const ExtentSet& set, Bits bits, Extent extent) {
    const Bits asked = bits_of(extent);
    EXPECT_EQ(set.covers(extent), (asked & ~bits) == 0);
    EXPECT_EQ(set.intersects(extent), (asked & bits) != 0);
    EXPECT_EQ(bits_of(set.within(extent)), bits & asked);
    EXPECT_EQ(bits_of(set.missing(extent)), asked & ~bits);
    expect_canonical(set.within(extent));
    expect_canonical(set.missing(extent));
  });
}

TEST(ExtentSet, equal_contents_are_equal_sets_however_they_were_built) {
  EXPECT_EQ((ExtentSet{{0, 4}, {4, 8}}), (ExtentSet{{2, 8}, {0, 3}}));
  EXPECT_NE((ExtentSet{{0, 4}}), (ExtentSet{{0, 5}}));
}

TEST(ExtentSet, whole_sets_are_joined_and_taken_away) {
  for (Bits a = 0; a < 64; ++a) {
    for (Bits b = 0; b < 64; ++b) {
      ExtentSet joined = set_of(a);
      joined.insert(set_of(b));
      EXPECT_EQ(bits_of(joined), a | b);
      joined.subtract(set_of(b));
      EXPECT_EQ(bits_of(joined), a & ~b);
      expect_canonical(joined);
    }
  }
  ExtentSet self{{1, 3}, {5, 7}};
  self.insert(self);
  EXPECT_EQ(self.count(), 2U);
  self.subtract(self);
  EXPECT_TRUE(self.empty());
}

TEST(ExtentSet, hull_front_and_back) {
  const ExtentSet set{{10, 20}, {40, 50}};
  EXPECT_EQ(set.hull(), (Extent{10, 50}));
  EXPECT_EQ(set.front(), (Extent{10, 20}));
  EXPECT_EQ(set.back(), (Extent{40, 50}));
  EXPECT_TRUE(ExtentSet().hull().empty());
}

TEST(ExtentSet, works_at_both_ends_of_the_offsets) {
  ExtentSet set{everything};
  EXPECT_EQ(set.bytes(), UINT64_MAX);
  EXPECT_EQ(set.subtract({0, 1}), 1U);
  EXPECT_EQ(set.subtract({UINT64_MAX - 1, UINT64_MAX}), 1U);
  EXPECT_EQ(set.front(), (Extent{1, UINT64_MAX - 1}));
  EXPECT_EQ(set.insert({0, 1}), 1U);
  EXPECT_EQ(set.insert({UINT64_MAX - 1, UINT64_MAX}), 1U);
  EXPECT_EQ(set, ExtentSet{everything});
}

// Long histories, where the vector's tail moves: the small cases cannot show that.
TEST(ExtentSet, random_histories_agree_with_a_bitmap) {
  constexpr std::uint64_t seed = 20260101;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  std::vector<bool> model(4096);
  ExtentSet set;
  for (int step = 0; step < 4000; ++step) {
    const std::uint64_t begin = random() % model.size();
    const std::uint64_t end = std::min<std::uint64_t>(model.size(), begin + random() % 24);
    const bool add = random() % 2 == 0;
    if (add) {
      set.insert({begin, end});
    } else {
      set.subtract({begin, end});
    }
    for (std::uint64_t i = begin; i < end; ++i) model[i] = add;
    if (step % 50 != 0) continue;
    expect_canonical(set);
    for (std::uint64_t i = 0; i < model.size(); ++i) ASSERT_EQ(set.covers({i, i + 1}), model[i]) << i;
  }
}

}  // namespace
}  // namespace millrace
