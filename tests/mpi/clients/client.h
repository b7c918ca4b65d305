/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the programs over I/O libraries share: a run that is wrong ends at once. "answer ..." lines and files
 * must be the same in every run. */
#pragma once

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, nranks;

#define REQUIRE(condition)                                                                     \
  do {                                                                                         \
    if (!(condition)) {                                                                        \
      fprintf(stderr, "rank %d: %s:%d: not true: %s\n", rank, __FILE__, __LINE__, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                            \
    }                                                                                          \
  } while (0)

static inline const char* begin(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &nranks);
  REQUIRE(*argc == 2);
  return (*argv)[1];
}

static inline int end(long long checksum) {
  long long sum = 0;
  MPI_Reduce(&checksum, &sum, 1, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("answer %lld\nend\n", sum);
  fflush(stdout);
  return MPI_Finalize();
}
