// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "geofem/domain.hpp"
#include "geofem/ordering.hpp"
#include "geofem/problem.hpp"

namespace bench::geofem {

// A matrix as the kernels see it, in plain pointers: kernels are compiled several times, for several targets,
// and functions that they call are not.
struct RowsView {
  const std::uint32_t* first;
  const int* column;
  const double* value;
};
struct MatrixView {
  RowsView lower, upper, outside;
  const double* diagonal;
  const double* inverse;
};

// Blocks of 3 x 3, a column after the other, row by row: row r has [first[r], first[r + 1]).
struct BlockRows {
  std::unique_ptr<std::uint32_t[]> first;
  std::unique_ptr<int[]> column;
  std::unique_ptr<double[]> value;  // 4 more than the blocks have: kernels read in fours
  std::uint64_t blocks = 0;

  RowsView view() const { return {first.get(), column.get(), value.get()}; }
};

// The rows of a rank's own nodes, in the order of a Layout. `lower` holds the columns that substitution
// visits before the row, `upper` those after it, `outside` those of external nodes (numbered from `rows` on),
// which the preconditioner leaves out.
struct Matrix {
  int rows = 0;
  BlockRows lower, upper, outside;
  std::unique_ptr<double[]> diagonal, inverse;  // blocks, as above

  std::uint64_t bytes() const;
  MatrixView view() const {
    return {lower.view(), upper.view(), outside.view(), diagonal.get(), inverse.get()};
  }
};

// The connections between own nodes of a domain.
Graph own_graph(const Domain& domain);

Matrix assemble(const Domain& domain, const Problem& problem, const Layout& layout);

}  // namespace bench::geofem
