/* SPDX-FileCopyrightText: 2026 The Millrace authors
   SPDX-License-Identifier: Apache-2.0 */

/* Every rank talks to all: small messages, large ones around the ring, all to all. With the argument "fail"
   the last rank ends the job instead. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 10, SIZE = 300000 };

static int around(int rank, int ranks, char* out, char* in) {
  memset(out, rank, SIZE);
  MPI_Sendrecv(out, SIZE, MPI_CHAR, (rank + 1) % ranks, 0, in, SIZE, MPI_CHAR, (rank + ranks - 1) % ranks, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return in[0] == (rank + ranks - 1) % ranks && in[SIZE - 1] == in[0];
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0, right = 1, length = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc > 1 && strcmp(argv[1], "fail") == 0) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == ranks - 1) {
      printf("rank %d fails\n", rank);
      fflush(stdout);
      MPI_Abort(MPI_COMM_WORLD, 3);
    }
  }
  char* out = malloc(SIZE);
  char* in = malloc(SIZE);
  int* all = malloc(sizeof(int) * (size_t)ranks);
  for (int i = 0; i < ROUNDS; i++) {
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    right = right && sum == ranks * (ranks - 1) / 2 && all[ranks - 1] == ranks - 1 &&
            around(rank, ranks, out, in);
  }
  char name[MPI_MAX_PROCESSOR_NAME];
  MPI_Get_processor_name(name, &length);
  printf("rank %d on %s: %s\n", rank, name, right ? "right" : "WRONG");
  free(out);
  free(in);
  free(all);
  MPI_Finalize();
  return right ? 0 : 1;
}
