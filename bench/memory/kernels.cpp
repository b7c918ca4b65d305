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

// On pages of 4 KiB one stream of loads keeps too few lines on their way: prefetchers stop at the end of each
// page, and what comes behind it waits for its address to be translated. Several streams, a line of each in
// turn, asked for 1 KiB ahead, keep more. Two sets of sums, so that none waits for the addition before.
template <std::size_t streams>
double read(double*, const double* b, const double*, std::size_t count) {
  constexpr std::size_t line = 8, ahead = 128;
  const std::size_t part = count / streams / line * line;
  std::array<double, 2 * line> sums = {};
  for (std::size_t i = 0; i < part; i += line) {
    for (std::size_t stream = 0; stream < streams; ++stream) {
      const double* from = b + stream * part + i;
      if constexpr (streams > 1) __builtin_prefetch(from + ahead);  // beyond the end it does nothing
      double* to = sums.data() + stream % 2 * line;
      for (std::size_t k = 0; k < line; ++k) to[k] += from[k];
    }
  }
  double sum = 0;
  for (std::size_t i = part * streams; i < count; ++i) sum += b[i];
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
      Kernel{"read", "plain", 1, true, read<1>, nullptr},
      Kernel{"read", "4 streams", 1, true, read<4>, nullptr},
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
