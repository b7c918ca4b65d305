// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <array>
#include <vector>

#include "mdtest/limit.hpp"
#include "mdtest/settings.hpp"

namespace bench::mdtest {

// The results of one number of ranks. Rank 0 has all of them.
struct Measured {
  int ranks = 0;
  // Seconds of the slowest rank, one per iteration; empty = not done.
  std::array<std::vector<double>, operation_count> seconds;
  // Operations of all ranks together; of the tree's, those of one rank, as MDTEST counts them.
  std::array<std::uint64_t, operation_count> items{};
  long errors = 0;
};

// All iterations, by all ranks of `comm`.
Measured measure(const Settings& s, MPI_Comm comm);

}  // namespace bench::mdtest
