// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace bench::geofem {

// What memory gives to all ranks and threads at once, in bytes per second: the best of several rounds.
struct MemoryRates {
  double triad = 0;  // a = b + scale c, 24 bytes for each value, as STREAM counts
  double read = 0;   // sum of values
};

// Each rank uses `bytes`, as much as what it is the limit of: where that fits into a cache, so does this.
// Collective.
MemoryRates measure_memory(std::uint64_t bytes, int threads);

}  // namespace bench::geofem
