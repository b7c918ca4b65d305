/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the MPI test programs share. A program prints "pass NAME" per test from rank 0, and "end" last. */
#pragma once

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, nranks, failures;

#define EXPECT(condition)                                                                      \
  do {                                                                                         \
    if (!(condition)) {                                                                        \
      ++failures;                                                                              \
      fprintf(stderr, "rank %d: %s:%d: not true: %s\n", rank, __FILE__, __LINE__, #condition); \
    }                                                                                          \
  } while (0)

#define CHECK(call)                                                                              \
  do {                                                                                           \
    int check_error_ = (call);                                                                   \
    if (check_error_ != MPI_SUCCESS) {                                                           \
      char check_text_[MPI_MAX_ERROR_STRING];                                                    \
      int check_size_ = 0;                                                                       \
      MPI_Error_string(check_error_, check_text_, &check_size_);                                 \
      ++failures;                                                                                \
      fprintf(stderr, "rank %d: %s:%d: %s: %s\n", rank, __FILE__, __LINE__, #call, check_text_); \
    }                                                                                            \
  } while (0)

static inline int class_of(int error) {
  int value = MPI_ERR_UNKNOWN;
  MPI_Error_class(error, &value);
  return value;
}

static inline void start_as(int level, int* argc, char*** argv) {
  int provided;
  MPI_Init_thread(argc, argv, level, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &nranks);
  if (*argc < 2) {
    fprintf(stderr, "usage: %s DIRECTORY\n", (*argv)[0]);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
}

static inline void start(int* argc, char*** argv) { start_as(MPI_THREAD_MULTIPLE, argc, argv); }

/* The test ends here on all ranks; it has passed if no rank has counted a failure since the last one. */
static inline void passed(const char* name) {
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%s %s\n", all == 0 ? "pass" : "FAIL", name);
  if (all != 0) MPI_Abort(MPI_COMM_WORLD, 1);
}

static inline int finish(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("end\n");
  fflush(stdout);
  return MPI_Finalize();
}
