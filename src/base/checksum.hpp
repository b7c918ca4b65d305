// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// xxHash is header-only here, because the preloaded libraries may depend only on libc and MPI.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace millrace {

using Checksum = std::uint64_t (*)(const void* data, std::size_t size, std::uint64_t seed);
// The fastest code for this processor. Call it only after the library's constructors have run.
extern const Checksum long_checksum;
std::uint64_t checksum_avx2(const void* data, std::size_t size, std::uint64_t seed);

// XXH3-64 of [data, data + size). Every record carries this checksum from the program to the sink and into
// the journal.
inline std::uint64_t checksum(const void* data, std::size_t size, std::uint64_t seed = 0) {
  // Some calls of code with wide registers cost about 100 ns more, so only long data uses it.
  constexpr std::size_t wide_from = 4096;
  return size < wide_from ? XXH3_64bits_withSeed(data, size, seed) : long_checksum(data, size, seed);
}

}  // namespace millrace
