/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Rank 0 writes and stops, as victim.c does. After a barrier rank 1, which has not met the agent, reads the
 * bytes ("read CLASS BYTE") or, with "write", writes other bytes there past the pipeline ("write CLASS").
 * usage: silent FILE GO read|write */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int rank, error;
  char piece[1024], large[65536];
  MPI_File fh;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc < 4) MPI_Abort(MPI_COMM_WORLD, 2);
  const int reads = strcmp(argv[3], "read") == 0;
  memset(piece, 'N', sizeof piece);
  memset(large, 'L', sizeof large);
  error = MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh);
  if (error != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 3);
  if (rank == 0) {
    error = MPI_File_write_at(fh, 0, piece, sizeof piece, MPI_BYTE, MPI_STATUS_IGNORE);
    printf("%sat 0 %d\n", error == MPI_SUCCESS ? "" : "error 0 write\n", (int)getpid());
    fflush(stdout);
    while (access(argv[2], F_OK) != 0) usleep(10000);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    memset(piece, '?', sizeof piece);
    error = reads ? MPI_File_read_at(fh, 0, piece, sizeof piece, MPI_BYTE, MPI_STATUS_IGNORE)
                  : MPI_File_write_at(fh, 0, large, sizeof large, MPI_BYTE, MPI_STATUS_IGNORE);
    printf("%s %s %c\n", argv[3], error == MPI_SUCCESS ? "well" : "failed", piece[0]);
    fflush(stdout);
  }
  MPI_File_close(&fh);
  MPI_Finalize();
  return 0;
}
