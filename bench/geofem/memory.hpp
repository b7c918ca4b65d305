// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace bench::geofem {

// The memory's rates for all ranks and threads together, in bytes per second: the best of several rounds.
struct MemoryRates {
  double triad = 0;  // a = b + scale c, 24 bytes for each value, as STREAM counts
  double read = 0;   // sum of values
};

// Each rank uses `bytes`, as much as the measured program: if that fits into a cache, so does this.
// Collective.
MemoryRates measure_memory(std::uint64_t bytes, int threads);

}  // namespace bench::geofem
