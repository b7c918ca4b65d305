// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "base/checksum.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace millrace {
namespace {

TEST(Checksum, is_xxh3_64) {
  // From the reference implementation: XXH3_64bits of nothing, seed 0.
  EXPECT_EQ(checksum("", 0), 0x2D06800538D394C2ULL);
}

TEST(Checksum, sees_every_flipped_bit) {
  std::vector<unsigned char> data(67);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<unsigned char>(i * 37);
  const std::uint64_t whole = checksum(data.data(), data.size());
  for (std::size_t bit = 0; bit < data.size() * 8; ++bit) {
    data[bit / 8] = static_cast<unsigned char>(data[bit / 8] ^ (1U << (bit % 8)));
    EXPECT_NE(checksum(data.data(), data.size()), whole) << bit;
    data[bit / 8] = static_cast<unsigned char>(data[bit / 8] ^ (1U << (bit % 8)));
  }
  EXPECT_EQ(checksum(data.data(), data.size()), whole);
}

TEST(Checksum, is_the_same_in_wide_registers) {
  std::vector<unsigned char> data(70'000);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<unsigned char>(i * i >> 3);
  for (std::size_t size = 4000; size < data.size(); size += size / 7 + 1) {
    EXPECT_EQ(checksum(data.data() + 3, size - 3), XXH3_64bits_withSeed(data.data() + 3, size - 3, 0))
        << size;
    EXPECT_EQ(checksum(data.data(), size, 77), XXH3_64bits_withSeed(data.data(), size, 77)) << size;
  }
}

TEST(Checksum, depends_on_the_seed) { EXPECT_NE(checksum("record", 6, 0), checksum("record", 6, 4096)); }

}  // namespace
}  // namespace millrace
