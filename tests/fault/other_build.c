/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A library for LD_PRELOAD, before Millrace's: the rank TEST_OTHER_RANK answers the roll call as a rank with
 * another build of Millrace (TEST_OTHER=build) or with another agent (TEST_OTHER=agent) does. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t magic = 0x4c4c41434c4c4f52u;

int PMPI_Isend(const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
               MPI_Request* request) {
  static uint64_t answer[5];
  int (*real)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*) = NULL;
  *(void**)&real = dlsym(RTLD_NEXT, "PMPI_Isend");
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  if (count == sizeof answer && memcmp(from, &magic, sizeof magic) == 0 &&
      rank == atoi(getenv("TEST_OTHER_RANK"))) {
    memcpy(answer, from, sizeof answer);
    answer[strcmp(getenv("TEST_OTHER"), "build") == 0 ? 1 : 3] ^= 1;
    from = answer;
  }
  return real(from, count, type, to, tag, comm, request);
}
