// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// CMakeLists.txt compiles this file for processors with AVX2. Include no further headers of the C++ library
// here. The linker may keep this file's copy of an inline function for the whole program, and the copy would
// need AVX2.
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace millrace {

std::uint64_t checksum_avx2(const void* data, std::size_t size, std::uint64_t seed) {
  const std::uint64_t sum = XXH3_64bits_withSeed(data, size, seed);
  // GCC 12 does not emit this instruction here. Without it, all later SSE code of the program is slower.
  _mm256_zeroupper();
  return sum;
}

}  // namespace millrace
