// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/transfer.hpp"

namespace millrace::front {

// Writes that do not take the pipeline on a file that has one. They never need another rank: a collective
// call becomes this rank's independent one.

// Where a write goes, if that could be worked out.
struct Target {
  std::uint64_t position;  // bytes of the view's data
  const client::TypeMap* memory;
  std::uint64_t bytes;
  Extent hull;
  bool one_piece;  // in the file: the bytes are their hull, in order
};

// Takes up a split collective, which the library knows nothing of, with what its end shall report.
int begin_split(Open& open, MPI_Count bytes);

// `target` is nullptr where arguments are not sound: the library's own checks answer then.
int write_direct(Open& open, const Row& row, const Arguments& arguments, const Target* target);

// Completes a call whose bytes have left the program's memory.
int complete(Open& open, const Row& row, const Arguments& arguments, std::uint64_t bytes);

}  // namespace millrace::front
