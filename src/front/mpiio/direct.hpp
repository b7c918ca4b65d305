// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/transfer.hpp"

namespace millrace::front {

// Writes that do not take the pipeline on a file that has one. They never need another rank: a collective
// call becomes this rank's independent one.

// The place of a write, if it could be computed.
struct Target {
  std::uint64_t position;  // bytes of the view's data
  const client::TypeMap* memory;
  std::uint64_t bytes;
  Extent hull;
  bool one_piece;  // in the file: the bytes are their hull, in order
};

// Computes the bytes of a transfer, and the position of the first one in the view's data. False: the
// arguments are wrong, which the library reports, or there is no map. The individual pointer does not move.
bool measure(Open& open, const Row& row, const Arguments& arguments, Target& target);
void find_hull(const Open& open, Target& target);

// Begins a split collective that the library does not see, with the count for its end.
int begin_split(Open& open, MPI_Count bytes);

// `target` is nullptr if the arguments are wrong: the library's own checks answer then. The library's
// independent function for the same arguments; blocking unless the row is nonblocking.
int write_independent(Open& open, const Row& row, const Arguments& arguments, MPI_Status* status);

int write_direct(Open& open, const Row& row, const Arguments& arguments, const Target* target);

// True: write_direct() writes it itself, under a lock. A sieve of another rank rewrites holes of up to
// sweep.gap bytes. So pieces that fit into such a hole need the lock too; ROMIO writes one piece without. A
// larger piece lies in no hole that a sieve rewrites.
bool writes_under_lock(const Open& open, const Target& target);

// Completes a call whose bytes have left the program's memory.
int complete(Open& open, const Row& row, const Arguments& arguments, std::uint64_t bytes);

}  // namespace millrace::front
