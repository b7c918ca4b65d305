// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "base/checksum.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace millrace {
namespace {

TEST(Checksum, is_xxh3_64) {
  // The value of the reference implementation: XXH3_64bits of no bytes, seed 0.
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

#if defined(__x86_64__)
// True if the upper halves of the wide registers are in use. The program's SSE code is slow then.
bool wide_registers_in_use() {
  unsigned low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
  return (low & 4U) != 0;
}

TEST(Checksum, leaves_the_wide_registers_clean) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__builtin_cpu_supports("avx2") == 0 || __get_cpuid_count(0xD, 1, &a, &b, &c, &d) == 0 || (a & 4U) == 0)
    GTEST_SKIP() << "this processor has no AVX2, or does not tell";
  asm volatile("vpcmpeqd %%ymm0, %%ymm0, %%ymm0" ::: "xmm0");
  const bool dirty = wide_registers_in_use();
  asm volatile("vzeroupper" ::: "xmm0");
  const bool clean = !wide_registers_in_use();
  if (!dirty || !clean) GTEST_SKIP() << "this processor does not tell";
  const std::vector<unsigned char> data(64 * 1024, 7);
  const std::uint64_t sum = checksum(data.data(), data.size());
  const bool left = wide_registers_in_use();
  EXPECT_FALSE(left) << sum;
}
#endif

TEST(Checksum, depends_on_the_seed) { EXPECT_NE(checksum("record", 6, 0), checksum("record", 6, 4096)); }

}  // namespace
}  // namespace millrace
