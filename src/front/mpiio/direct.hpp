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

// The bytes that a transfer moves, and the first of them in the view's data. False: the library has to say
// what is wrong with the arguments, or there is no map. The individual pointer stays where it is.
bool measure(Open& open, const Row& row, const Arguments& arguments, Target& target);
void find_hull(const Open& open, Target& target);

// Takes up a split collective, which the library knows nothing of, with what its end shall report.
int begin_split(Open& open, MPI_Count bytes);

// `target` is nullptr where arguments are not sound: the library's own checks answer then.
// The library's independent function for the same arguments; blocking unless the row is nonblocking.
int write_independent(Open& open, const Row& row, const Arguments& arguments, MPI_Status* status);

int write_direct(Open& open, const Row& row, const Arguments& arguments, const Target* target);

// Completes a call whose bytes have left the program's memory.
int complete(Open& open, const Row& row, const Arguments& arguments, std::uint64_t bytes);

}  // namespace millrace::front
