// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "subarray/block.hpp"

#include <algorithm>
#include <cstring>

#include "common/pattern.hpp"

namespace bench {

Block::Block(const std::vector<int>& dims, const std::vector<int>& grid, int rank, int element, int ghost)
    : dims_(dims),
      low_(dims.size()),
      size_(dims.size()),
      with_ghosts_(dims.size()),
      element_(element),
      ghost_(ghost) {
  for (std::size_t d = dims.size(); d-- > 0;) {
    const std::int64_t at = rank % grid[d];
    rank /= grid[d];
    low_[d] = static_cast<int>(dims[d] * at / grid[d]);
    size_[d] = static_cast<int>(dims[d] * (at + 1) / grid[d]) - low_[d];
    with_ghosts_[d] = size_[d] + 2 * ghost;
  }
  plane_stride_ = static_cast<std::size_t>(element);
  for (std::size_t d = 1; d < dims.size(); d++) plane_stride_ *= static_cast<std::size_t>(with_ghosts_[d]);
  data_.resize(plane_stride_ * static_cast<std::size_t>(with_ghosts_[0]));
}

// f(byte position of the row in memory, bytes of the row, its byte offset in the file), for every row.
template <class F>
void Block::for_each_row(F f) const {
  const std::size_t last = dims_.size() - 1;
  if (*std::min_element(size_.begin(), size_.end()) == 0) return;
  std::vector<int> at(dims_.size(), 0);
  for (;;) {
    std::size_t memory = 0;
    std::uint64_t file = 0;
    for (std::size_t d = 0; d <= last; d++) {
      memory = memory * static_cast<std::size_t>(with_ghosts_[d]) + static_cast<std::size_t>(at[d] + ghost_);
      file = file * static_cast<std::uint64_t>(dims_[d]) + static_cast<std::uint64_t>(at[d] + low_[d]);
    }
    const auto element = static_cast<std::size_t>(element_);
    f(memory * element, static_cast<std::size_t>(size_[last]) * element, file * element);
    std::size_t d = last;
    while (d > 0 && ++at[d - 1] == size_[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}

void Block::clear() { std::memset(data_.data(), 0xee, data_.size()); }

void Block::fill(std::uint64_t seed) {
  clear();
  for_each_row([&](std::size_t memory, std::size_t bytes, std::uint64_t offset) {
    bench::fill(data_.data() + memory, bytes, offset, seed);
  });
}

long Block::wrong_rows(std::uint64_t seed) const {
  long wrong = 0;
  for_each_row([&](std::size_t memory, std::size_t bytes, std::uint64_t offset) {
    if (mismatch(data_.data() + memory, bytes, offset, seed) != no_mismatch) wrong++;
  });
  return wrong;
}

MPI_Datatype Block::memory_type(MPI_Datatype element, int planes) const {
  std::vector<int> subsizes = size_, starts(dims_.size(), ghost_);
  subsizes[0] = planes;
  MPI_Datatype type;
  MPI_Type_create_subarray(static_cast<int>(dims_.size()), with_ghosts_.data(), subsizes.data(),
                           starts.data(), MPI_ORDER_C, element, &type);
  MPI_Type_commit(&type);
  return type;
}

MPI_Datatype Block::array_type(MPI_Datatype element, const std::vector<int>& low,
                               const std::vector<int>& size) const {
  MPI_Datatype type;
  MPI_Type_create_subarray(static_cast<int>(dims_.size()), dims_.data(), size.data(), low.data(), MPI_ORDER_C,
                           element, &type);
  MPI_Type_commit(&type);
  return type;
}

MPI_Datatype Block::file_type(MPI_Datatype element) const { return array_type(element, low_, size_); }

MPI_Datatype Block::plane_file_type(MPI_Datatype element, int index) const {
  std::vector<int> low = low_, size = size_;
  low[0] += index;
  size[0] = 1;
  return array_type(element, low, size);
}

}  // namespace bench
