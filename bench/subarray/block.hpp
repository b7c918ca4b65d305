// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

namespace bench {

// One rank's block of an N-dimensional array (C order: the last dimension is contiguous), kept in memory with
// `ghost` elements on every side. Elements of the array are the content of the file (common/pattern.hpp).
class Block {
 public:
  Block(const std::vector<int>& dims, const std::vector<int>& grid, int rank, int element, int ghost);

  void fill(std::uint64_t seed);
  void clear();
  long wrong_rows(std::uint64_t seed) const;

  int planes() const { return size_[0]; }  // of the slowest dimension
  // Address from which plane_type or whole_type counts.
  unsigned char* plane(int index) { return data_.data() + static_cast<std::size_t>(index) * plane_stride_; }

  MPI_Datatype plane_type(MPI_Datatype element) const { return memory_type(element, 1); }
  MPI_Datatype whole_type(MPI_Datatype element) const { return memory_type(element, size_[0]); }
  MPI_Datatype file_type(MPI_Datatype element) const;
  MPI_Datatype plane_file_type(MPI_Datatype element, int index) const;

 private:
  MPI_Datatype memory_type(MPI_Datatype element, int planes) const;
  MPI_Datatype array_type(MPI_Datatype element, const std::vector<int>& low,
                          const std::vector<int>& size) const;
  template <class F>
  void for_each_row(F f) const;

  std::vector<int> dims_, low_, size_, with_ghosts_;
  int element_, ghost_;
  std::size_t plane_stride_;
  std::vector<unsigned char> data_;
};

}  // namespace bench
