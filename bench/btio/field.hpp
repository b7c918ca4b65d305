// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "btio/cells.hpp"

namespace bench {

// The solution of one rank as BT keeps it: 5 doubles per point, x fastest, two ghost points on every side,
// all cells in one array of equal boxes. The bytes of its points are the content of the file
// (common/pattern.hpp).
class Field {
 public:
  Field(int rank, int ranks, int n, std::uint64_t seed);

  void fill(int dump);              // the content of one output; ghost points get other bytes
  void mark(int dump);              // the same places, each value the number of this rank
  void clear();                     // before reading back
  long wrong_rows(int dump) const;  // rows that are not as fill(dump) made them

  // The whole field in memory without its ghost points, and its place in one output of the file. Both count
  // in points (5 doubles). The caller frees them.
  MPI_Datatype memory_type(MPI_Datatype point) const;
  MPI_Datatype file_type(MPI_Datatype point) const;

  double* data() { return u_.data(); }
  std::int64_t points() const;  // of this rank
  std::uint64_t output_doubles() const { return 5ULL * n_ * n_ * n_; }

  // Calls f(pointer to the row, doubles in the row, its index among the doubles of the file).
  template <class F>
  void for_each_row(int dump, F f) {
    for (std::size_t c = 0; c < cells_.size(); c++) {
      for (int k = 0; k < cells_[c].size[2]; k++) {
        for (int j = 0; j < cells_[c].size[1]; j++) {
          f(u_.data() + memory_index(c, j, k), 5 * cells_[c].size[0], file_index(dump, c, j, k));
        }
      }
    }
  }

 private:
  std::size_t memory_index(std::size_t c, int j, int k) const {
    const auto w = static_cast<std::size_t>(width_);
    return 5 * (2 + w * (static_cast<std::size_t>(j + 2) + w * (static_cast<std::size_t>(k + 2) + w * c)));
  }
  std::uint64_t file_index(int dump, std::size_t c, int j, int k) const {
    const Cell& cell = cells_[c];
    const std::uint64_t n = n_;
    const int in_plane = cell.low[1] + j, plane = cell.low[2] + k;
    const auto y = static_cast<std::uint64_t>(in_plane), z = static_cast<std::uint64_t>(plane);
    return 5 * (static_cast<std::uint64_t>(cell.low[0]) +
                n * (y + n * (z + n * static_cast<std::uint64_t>(dump))));
  }

  int rank_;
  std::uint64_t n_, seed_;
  std::vector<Cell> cells_;
  int width_;  // points of a box in each direction, ghosts included
  std::vector<double> u_;
};

}  // namespace bench
