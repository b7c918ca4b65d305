// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <vector>

namespace bench {

// NAS BT's multipartition: the cubic grid of n points is cut into p x p x p cells, p = sqrt(ranks). Each rank
// owns p cells, exactly one in every plane of cells in every direction (a diagonal that wraps around).
struct Cell {
  int low[3], size[3];  // first point and number of points in x, y, z
};

inline int square_root(int ranks) {
  int p = 1;
  while (p * p < ranks) p++;
  return p;
}

// Throws where the grid is too small: BT wants at least 3 points per cell and direction.
inline std::vector<Cell> cells_of(int rank, int ranks, int n) {
  const int p = square_root(ranks);
  if (n / p < 3) throw std::runtime_error("cells would be smaller than 3 points: use fewer ranks");
  std::vector<Cell> cells(static_cast<std::size_t>(p));
  int at[3] = {rank % p, rank / p, 0};
  for (Cell& cell : cells) {
    for (int d = 0; d < 3; d++) {
      const int size = n / p, excess = n % p;  // the first `excess` cells have one point more
      cell.size[d] = at[d] < excess ? size + 1 : size;
      cell.low[d] = at[d] < excess ? at[d] * (size + 1) : excess * (size + 1) + (at[d] - excess) * size;
    }
    at[0] = (at[0] + 1) % p;
    at[1] = (at[1] - 1 + p) % p;
    at[2]++;
  }
  return cells;
}

}  // namespace bench
