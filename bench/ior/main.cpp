// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <mpi.h>

#include <cstdio>

#include "ior/options.hpp"
#include "ior/run.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int status = 0;
  try {
    const bench::IorOptions options = bench::parse_ior(argc, argv, ranks);
    if (options.help || options.list_presets) {
      const std::string text = options.help ? bench::ior_help() : bench::describe_presets();
      if (rank == 0) std::fputs(text.c_str(), stdout);
    } else {
      status = bench::run_ior(options, rank, ranks);
    }
  } catch (const bench::BadUsage& problem) {
    if (rank == 0) std::fprintf(stderr, "ior: %s\n", problem.what());
    status = 2;
  }
  MPI_Finalize();
  return status;
}
