// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "geofem/kernels.hpp"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define GEOFEM_CLONES __attribute__((target_clones("default", "fma")))
#else
#define GEOFEM_CLONES
#endif
#define GEOFEM_INLINE __attribute__((always_inline)) inline

namespace bench::geofem {
namespace {

// Four values, from any place. A column of a block has three: the fourth is read and never used.
using Lanes = double __attribute__((vector_size(32), aligned(8), may_alias));

struct Sums {
  Lanes x{}, y{}, z{};  // one per column, so that no addition waits for the one before it
};

// Prefetch distance: one stream alone does not keep the memory busy.
constexpr std::size_t ahead = 9 * 60;

GEOFEM_INLINE void add_block(Sums& sums, const double* block, const double* x) {
  sums.x += *reinterpret_cast<const Lanes*>(block) * x[0];
  sums.y += *reinterpret_cast<const Lanes*>(block + 3) * x[1];
  sums.z += *reinterpret_cast<const Lanes*>(block + 6) * x[2];
}

GEOFEM_INLINE void add_row(Sums& sums, const RowsView& part, std::size_t row, const double* x) {
  const std::uint32_t begin = part.first[row], end = part.first[row + 1];
  const double* block = part.value + 9 * static_cast<std::size_t>(begin);
  for (std::uint32_t k = begin; k < end; k++, block += 9) {
    __builtin_prefetch(block + ahead);
    add_block(sums, block, x + 3L * part.column[k]);
  }
}

}  // namespace

GEOFEM_CLONES void multiply(const MatrixView& a, const double* x, double* y, int begin, int end) {
  for (auto row = static_cast<std::size_t>(begin); row < static_cast<std::size_t>(end); row++) {
    Sums sums;
    add_row(sums, a.lower, row, x);
    add_block(sums, a.diagonal + 9 * row, x + 3 * row);
    add_row(sums, a.upper, row, x);
    const Lanes all = sums.x + sums.y + sums.z;
    for (std::size_t i = 0; i < 3; i++) y[3 * row + i] = all[i];
  }
}

GEOFEM_CLONES void multiply_outside(const MatrixView& a, const double* x, double* y, int begin, int end) {
  for (auto row = static_cast<std::size_t>(begin); row < static_cast<std::size_t>(end); row++) {
    if (a.outside.first[row] == a.outside.first[row + 1]) continue;
    Sums sums;
    add_row(sums, a.outside, row, x);
    const Lanes all = sums.x + sums.y + sums.z;
    for (std::size_t i = 0; i < 3; i++) y[3 * row + i] += all[i];
  }
}

GEOFEM_CLONES void forward(const MatrixView& a, const double* r, double* z, int begin, int end) {
  for (auto row = static_cast<std::size_t>(begin); row < static_cast<std::size_t>(end); row++) {
    Sums sums;
    add_row(sums, a.lower, row, z);
    const Lanes known = sums.x + sums.y + sums.z;
    const double rest[3] = {r[3 * row] - known[0], r[3 * row + 1] - known[1], r[3 * row + 2] - known[2]};
    Sums solved;
    add_block(solved, a.inverse + 9 * row, rest);
    const Lanes all = solved.x + solved.y + solved.z;
    for (std::size_t i = 0; i < 3; i++) z[3 * row + i] = all[i];
  }
}

GEOFEM_CLONES void backward(const MatrixView& a, double* z, int begin, int end) {
  for (auto row = static_cast<std::size_t>(end); row-- > static_cast<std::size_t>(begin);) {
    Sums sums;
    add_row(sums, a.upper, row, z);
    const Lanes known = sums.x + sums.y + sums.z;
    const double rest[3] = {known[0], known[1], known[2]};
    Sums solved;
    add_block(solved, a.inverse + 9 * row, rest);
    const Lanes all = solved.x + solved.y + solved.z;
    for (std::size_t i = 0; i < 3; i++) z[3 * row + i] -= all[i];
  }
}

GEOFEM_CLONES double dot(const double* a, const double* b, std::size_t begin, std::size_t end) {
  double parts[16] = {};
  std::size_t i = begin;
  for (; i + 16 <= end; i += 16) {
    for (std::size_t k = 0; k < 16; k++) parts[k] += a[i + k] * b[i + k];
  }
  for (; i < end; i++) parts[0] += a[i] * b[i];
  double all = 0;
  for (const double part : parts) all += part;
  return all;
}

GEOFEM_CLONES void direction(const double* z, double beta, double* p, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; i++) p[i] = z[i] + beta * p[i];
}

GEOFEM_CLONES double step(double alpha, const double* p, const double* q, double* x, double* r,
                          std::size_t begin, std::size_t end) {
  double parts[16] = {};
  std::size_t i = begin;
  for (; i + 16 <= end; i += 16) {
    for (std::size_t k = 0; k < 16; k++) {
      x[i + k] += alpha * p[i + k];
      const double rest = r[i + k] - alpha * q[i + k];
      r[i + k] = rest;
      parts[k] += rest * rest;
    }
  }
  for (; i < end; i++) {
    x[i] += alpha * p[i];
    r[i] -= alpha * q[i];
    parts[0] += r[i] * r[i];
  }
  double all = 0;
  for (const double part : parts) all += part;
  return all;
}

GEOFEM_CLONES void triad(double* a, const double* b, const double* c, double scale, std::size_t begin,
                         std::size_t end) {
  for (std::size_t i = begin; i < end; i++) a[i] = b[i] + scale * c[i];
}

GEOFEM_CLONES double sum(const double* a, std::size_t begin, std::size_t end) {
  double parts[32] = {};
  std::size_t i = begin;
  for (; i + 32 <= end; i += 32) {
    for (std::size_t k = 0; k < 32; k++) parts[k] += a[i + k];
  }
  for (; i < end; i++) parts[0] += a[i];
  double all = 0;
  for (const double part : parts) all += part;
  return all;
}

}  // namespace bench::geofem
