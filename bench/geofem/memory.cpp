// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "geofem/memory.hpp"

#include <algorithm>
#include <vector>

#include "common/mpi.hpp"
#include "geofem/kernels.hpp"
#include "geofem/team.hpp"

namespace bench::geofem {
namespace {

constexpr int rounds = 7;

// Seconds of the slowest rank, from a barrier, in the best round.
template <class Work>
double best_time(int threads, Work work) {
  double best = 0;
  for (int round = 0; round < rounds; round++) {
    check_mpi(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
    const double began = now_s();
    on_threads(threads, work);
    const double seconds = max_over_ranks({now_s() - began})[0];
    best = round == 0 ? seconds : std::min(best, seconds);
  }
  return best;
}

}  // namespace

MemoryRates measure_memory(std::uint64_t bytes, int threads) {
  const auto parts = static_cast<std::size_t>(threads);
  const std::size_t values = std::max<std::size_t>(bytes / 3 / sizeof(double), 64 * parts);
  const auto begin = [=](int part) { return values * static_cast<std::size_t>(part) / parts; };
  const auto a = untouched<double>(values), b = untouched<double>(values), c = untouched<double>(values);
  on_threads(threads, [&](int thread) {
    for (std::size_t i = begin(thread); i < begin(thread + 1); i++) a[i] = 0, b[i] = 1, c[i] = 2;
  });
  const double triad_s = best_time(threads, [&](int thread) {
    geofem::triad(a.get(), b.get(), c.get(), 3.0, begin(thread), begin(thread + 1));
  });
  std::vector<double> sums(parts * 8);  // a cache line each
  const double read_s = best_time(threads, [&](int thread) {
    double all = 0;
    for (const double* values_of : {a.get(), b.get(), c.get()}) {
      all += geofem::sum(values_of, begin(thread), begin(thread + 1));
    }
    sums[8 * static_cast<std::size_t>(thread)] = all;
  });
  double sum = 0;
  for (const double part : sums) sum += part;
  if (sum != 10.0 * static_cast<double>(values)) throw std::runtime_error("the triad's result is wrong");
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const double moved = 24.0 * static_cast<double>(values) * ranks;
  return {moved / triad_s, moved / read_s};
}

}  // namespace bench::geofem
