// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

namespace bench::geofem {

// Calls `work(thread)` for each of `threads`; all are done when it returns. Which system thread takes which
// part is the same in every call, so memory is near the thread that touched it first.
template <class Work>
void on_threads(int threads, Work work) {
#pragma omp parallel for schedule(static, 1) num_threads(threads)
  for (int thread = 0; thread < threads; thread++) work(thread);
}

// As that, for step 0, 1, ...: a step begins when the one before it is done on all threads.
template <class Work>
void in_steps(int threads, int steps, Work work) {
#pragma omp parallel num_threads(threads)
  for (int step = 0; step < steps; step++) {
#pragma omp for schedule(static, 1)
    for (int thread = 0; thread < threads; thread++) work(thread, step);
  }
}

// Memory that nobody has touched yet.
template <class T>
std::unique_ptr<T[]> untouched(std::size_t count) {
  return std::make_unique_for_overwrite<T[]>(count);
}

}  // namespace bench::geofem
