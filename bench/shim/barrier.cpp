// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0

// Mean time of MPI_Barrier, which shows whether waiting ranks give up their core. Usage: barrier [COUNT]
#include <mpi.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int count = argc > 1 ? std::atoi(argv[1]) : 100;
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < count; i++) MPI_Barrier(MPI_COMM_WORLD);
  const double each_us = (MPI_Wtime() - begin) / (count > 0 ? count : 1) * 1e6;
  if (rank == 0) {
    std::printf(
        "{\"schema\": \"millrace-bench\", \"version\": 1, \"benchmark\": \"barrier\", \"ranks\": %d, "
        "\"count\": %d, \"barrier_us\": %.2f}\n",
        ranks, count, each_us);
  }
  MPI_Finalize();
}
