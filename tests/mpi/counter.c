/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A small PMPI tool, as a profiler is one: counts some calls and prints the counts of rank 0 at the end. */
#include <mpi.h>
#include <stdio.h>

static int opens, closes, writes, reads;

int MPI_File_open(MPI_Comm comm, const char* name, int amode, MPI_Info info, MPI_File* fh) {
  ++opens;
  return PMPI_File_open(comm, name, amode, info, fh);
}
int MPI_File_close(MPI_File* fh) {
  ++closes;
  return PMPI_File_close(fh);
}
int MPI_File_write_at(MPI_File fh, MPI_Offset at, const void* buf, int count, MPI_Datatype type,
                      MPI_Status* st) {
  ++writes;
  return PMPI_File_write_at(fh, at, buf, count, type, st);
}
int MPI_File_read_at(MPI_File fh, MPI_Offset at, void* buf, int count, MPI_Datatype type, MPI_Status* st) {
  ++reads;
  return PMPI_File_read_at(fh, at, buf, count, type, st);
}
int MPI_Finalize(void) {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("counter open %d close %d write_at %d read_at %d\n", opens, closes, writes, reads);
  fflush(stdout);
  return PMPI_Finalize();
}
