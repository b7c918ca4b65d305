// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "memory/kernels.hpp"

#include <array>
#include <cstdint>
#include <vector>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace bench {

namespace {

constexpr double scalar = 3;

double of_copy(double b, double) { return b; }
double of_scale(double b, double) { return scalar * b; }
double of_add(double b, double c) { return b + c; }
double of_triad(double b, double c) { return b + scalar * c; }

// Sixteen sums, so that none waits for the addition before.
double read(double*, const double* b, const double*, std::size_t count) {
  constexpr std::size_t ways = 16;
  std::array<double, ways> sums = {};
  std::size_t i = 0;
  for (; i + ways <= count; i += ways) {
    for (std::size_t k = 0; k < ways; ++k) sums[k] += b[i + k];
  }
  double sum = 0;
  for (; i < count; ++i) sum += b[i];
  for (const double one : sums) sum += one;
  return sum;
}

template <double (*value)(double, double)>
double plain(double* __restrict a, const double* __restrict b, const double* __restrict c,
             std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) a[i] = value(b[i], c[i]);
  return 0;
}

#ifdef __SSE2__
template <double (*value)(double, double)>
double streaming(double* __restrict a, const double* __restrict b, const double* __restrict c,
                 std::size_t count) {
  std::size_t i = 0;
  while (i < count && reinterpret_cast<std::uintptr_t>(a + i) % 16 != 0) {
    a[i] = value(b[i], c[i]);
    ++i;
  }
  for (; i + 2 <= count; i += 2)
    _mm_stream_pd(a + i, _mm_set_pd(value(b[i + 1], c[i + 1]), value(b[i], c[i])));
  for (; i < count; ++i) a[i] = value(b[i], c[i]);
  _mm_sfence();
  return 0;
}
#endif

}  // namespace

std::span<const Kernel> kernels() {
  static constexpr std::array table{
      Kernel{"read", "plain", 1, true, read, nullptr},
      Kernel{"copy", "plain", 2, false, plain<of_copy>, of_copy},
      Kernel{"scale", "plain", 2, false, plain<of_scale>, of_scale},
      Kernel{"add", "plain", 3, false, plain<of_add>, of_add},
      Kernel{"triad", "plain", 3, false, plain<of_triad>, of_triad},
#ifdef __SSE2__
      Kernel{"copy", "streaming", 2, false, streaming<of_copy>, of_copy},
      Kernel{"scale", "streaming", 2, false, streaming<of_scale>, of_scale},
      Kernel{"add", "streaming", 3, false, streaming<of_add>, of_add},
      Kernel{"triad", "streaming", 3, false, streaming<of_triad>, of_triad},
#endif
  };
  return table;
}

}  // namespace bench
