/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Large-count functions found at run time, as mpi4py finds them, though the MPI library may have none: they
 * do what those of small counts do, and refuse what these cannot. */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "check.h"

typedef int (*write_at_c)(MPI_File, MPI_Offset, const void*, MPI_Count, MPI_Datatype, MPI_Status*);
typedef int (*gather_c)(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, int, MPI_Comm);
typedef int (*write_c)(MPI_File, const void*, MPI_Count, MPI_Datatype, MPI_Status*);

static void* symbol(const char* name) {
  void* found = dlsym(RTLD_DEFAULT, name);
  EXPECT(found != NULL);
  return found;
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  write_at_c at;
  write_c here;
  gather_c gather;
  void* found[] = {symbol("PMPI_File_write_at_c"), symbol("MPI_File_write_c"), symbol("MPI_Gather_c")};
  memcpy(&at, &found[0], sizeof at);
  memcpy(&here, &found[1], sizeof here);
  memcpy(&gather, &found[2], sizeof gather);
  char path[1024];
  snprintf(path, sizeof path, "%s/narrow", argv[1]);
  MPI_File fh;
  CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  int buf[2] = {rank, rank + 100}, back[2] = {-1, -1}, count = 0;
  MPI_Status status;
  CHECK(at(fh, rank * 8, buf, 1, MPI_INT, &status));
  MPI_Get_count(&status, MPI_INT, &count);
  EXPECT(count == 1);
  CHECK(MPI_File_seek(fh, rank * 8 + 4, MPI_SEEK_SET));
  CHECK(here(fh, buf + 1, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK(MPI_File_read_at(fh, rank * 8, back, 2, MPI_INT, MPI_STATUS_IGNORE));
  EXPECT(back[0] == rank && back[1] == rank + 100);
#if MPI_VERSION < 4
  EXPECT(class_of(at(fh, 0, buf, (MPI_Count)1 << 31, MPI_INT, &status)) == MPI_ERR_COUNT);
#endif
  int* ranks = calloc((size_t)nranks, sizeof *ranks);
  CHECK(gather(&rank, 1, MPI_INT, ranks, 1, MPI_INT, nranks - 1, MPI_COMM_WORLD));
  for (int i = 0; i < nranks && rank == nranks - 1; ++i) EXPECT(ranks[i] == i);
  free(ranks);
  CHECK(MPI_File_close(&fh));
  passed("narrow");
  return finish();
}
