// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "base/checksum.hpp"

namespace millrace {

namespace {

std::uint64_t checksum_baseline(const void* data, std::size_t size, std::uint64_t seed) {
  return XXH3_64bits_withSeed(data, size, seed);
}

Checksum best_here() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") != 0) return checksum_avx2;
#endif
  return checksum_baseline;
}

}  // namespace

const Checksum long_checksum = best_here();

}  // namespace millrace
