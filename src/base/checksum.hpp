// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// Header-only, with hidden symbols: the preloaded libraries may depend on libc and MPI alone.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace millrace {

// XXH3-64 of [data, data + size). Goes with every record from the program to the sink and into the journal.
inline std::uint64_t checksum(const void* data, std::size_t size, std::uint64_t seed = 0) {
  return XXH3_64bits_withSeed(data, size, seed);
}

}  // namespace millrace
