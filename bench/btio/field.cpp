// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "btio/field.hpp"

#include <algorithm>
#include <cstring>

#include "common/pattern.hpp"

namespace bench {
namespace {

MPI_Datatype combine(std::vector<MPI_Datatype>& parts) {
  const std::vector<int> lengths(parts.size(), 1);
  const std::vector<MPI_Aint> displacements(parts.size(), 0);
  MPI_Datatype type;
  MPI_Type_create_struct(static_cast<int>(parts.size()), lengths.data(), displacements.data(), parts.data(),
                         &type);
  MPI_Type_commit(&type);
  for (MPI_Datatype& part : parts) MPI_Type_free(&part);
  return type;
}

}  // namespace

Field::Field(int rank, int ranks, int n, std::uint64_t seed)
    : rank_(rank), n_(static_cast<std::uint64_t>(n)), seed_(seed), cells_(cells_of(rank, ranks, n)) {
  width_ = n / square_root(ranks) + 1 + 4;
  const auto w = static_cast<std::size_t>(width_);
  u_.resize(5 * w * w * w * cells_.size());
}

void Field::clear() { std::memset(u_.data(), 0xee, u_.size() * sizeof(double)); }

void Field::fill(int dump) {
  if (dump == 0) clear();
  for_each_row(dump, [this](double* row, int count, std::uint64_t index) {
    bench::fill(row, static_cast<std::size_t>(count) * 8, index * 8, seed_);
  });
}

void Field::mark(int dump) {
  for_each_row(dump, [this](double* row, int count, std::uint64_t) { std::fill_n(row, count, rank_); });
}

long Field::wrong_rows(int dump) const {
  long wrong = 0;
  const_cast<Field*>(this)->for_each_row(dump, [&](const double* row, int count, std::uint64_t index) {
    if (mismatch(row, static_cast<std::size_t>(count) * 8, index * 8, seed_) != no_mismatch) wrong++;
  });
  return wrong;
}

std::int64_t Field::points() const {
  std::int64_t all = 0;
  for (const Cell& cell : cells_) all += std::int64_t{1} * cell.size[0] * cell.size[1] * cell.size[2];
  return all;
}

MPI_Datatype Field::memory_type(MPI_Datatype point) const {
  std::vector<MPI_Datatype> parts;
  const int sizes[4] = {width_, width_, width_, static_cast<int>(cells_.size())};
  for (std::size_t c = 0; c < cells_.size(); c++) {
    const int subsizes[4] = {cells_[c].size[0], cells_[c].size[1], cells_[c].size[2], 1};
    const int starts[4] = {2, 2, 2, static_cast<int>(c)};
    MPI_Datatype part;
    MPI_Type_create_subarray(4, sizes, subsizes, starts, MPI_ORDER_FORTRAN, point, &part);
    parts.push_back(part);
  }
  return combine(parts);
}

MPI_Datatype Field::file_type(MPI_Datatype point) const {
  std::vector<MPI_Datatype> parts;
  const int n = static_cast<int>(n_);
  const int sizes[3] = {n, n, n};
  // In ascending order of file position, as a file view requires: the cells of a rank lie in ascending
  // planes.
  for (const Cell& cell : cells_) {
    MPI_Datatype part;
    MPI_Type_create_subarray(3, sizes, cell.size, cell.low, MPI_ORDER_FORTRAN, point, &part);
    parts.push_back(part);
  }
  return combine(parts);
}

}  // namespace bench
