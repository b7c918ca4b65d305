// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bench::fpp {

struct Settings {
  std::string language = "c", method = "normal", preload, memory = "host", mapping = "ascending";
  std::string driver = "libcuda.so.1", library, folder = ".";
  std::vector<std::uint64_t> sizes = {1 << 20, 8 << 20, 32 << 20, 128 << 20};
  std::uint64_t buffer = 512 << 10;
  long repetitions = 10, per_device = 8;
  bool fsync = false, warm = true, help = false;
};

// Fortran's runtime and the loader read the environment before main(). If it lacks variables that the
// settings need, the program starts again with them. Before MPI_Init.
void start_again(const Settings& settings, char** argv);

// Libraries that are preloaded into this process, as LD_PRELOAD has them.
std::string preloaded();

// Why the method asked for cannot be measured in this process; empty if it can.
std::string preload_problem(const Settings& settings);

// The device of a rank, of `count` on its node.
int device_of(const Settings& settings, int rank_on_node, int count);

}  // namespace bench::fpp
