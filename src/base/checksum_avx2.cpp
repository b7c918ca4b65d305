// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Compiled for processors with AVX2 (CMakeLists.txt). Includes no more of C++ than this: an inline function
// of the C++ library that was compiled here could be the one that the linker keeps for all.
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace millrace {

std::uint64_t checksum_avx2(const void* data, std::size_t size, std::uint64_t seed) {
  const std::uint64_t sum = XXH3_64bits_withSeed(data, size, seed);
  // The compiler leaves this out here (GCC 12), and then all of the program's SSE code is slower ever after.
  _mm256_zeroupper();
  return sum;
}

}  // namespace millrace
