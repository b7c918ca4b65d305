/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two ranks write the same bytes, one after the other: rank 0 O, a barrier, rank 1 N. Stops ("at RANK PID",
 * until the file GO.STEP is there): 0 before these writes, 1 behind them, 2 on rank 0 alone, when rank 1 has
 * noticed the death.
 *
 * usage: order FILE GO */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int rank;
static const char* go;

static void stop(int step) {
  char name[4096];
  snprintf(name, sizeof name, "%s.%d", go, step);
  printf("at %d %d\nstep %d %d\n", rank, (int)getpid(), step, rank);
  fflush(stdout);
  while (access(name, F_OK) != 0) usleep(10000);
}

static void put(MPI_File fh, char byte, MPI_Offset offset) {
  char piece[1024];
  memset(piece, byte, sizeof piece);
  if (MPI_File_write_at(fh, offset, piece, sizeof piece, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS)
    MPI_Abort(MPI_COMM_WORLD, 3);
}

int main(int argc, char** argv) {
  MPI_File fh;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc < 3) MPI_Abort(MPI_COMM_WORLD, 2);
  go = argv[2];
  if (MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh) !=
      MPI_SUCCESS)
    MPI_Abort(MPI_COMM_WORLD, 3);
  put(fh, 'w', (1 << 20) + rank * 4096); /* both ranks have a session */
  MPI_File_sync(fh);
  stop(0);
  if (rank == 0) put(fh, 'O', 0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) put(fh, 'N', 0);
  MPI_Barrier(MPI_COMM_WORLD);
  stop(1);
  if (rank == 0) stop(2);
  char piece[1024]; /* a read of pending bytes finds that the agent has gone; a sync may wait for the other
                       rank */
  MPI_File_read_at(fh, 0, piece, sizeof piece, MPI_BYTE, MPI_STATUS_IGNORE);
  printf("noticed %d\n", rank);
  fflush(stdout);
  MPI_File_close(&fh);
  MPI_Finalize();
  return 0;
}
