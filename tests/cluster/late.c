/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Ranks of several nodes read a file, which rank 0 has made. The last rank makes its first read by a handle
 * when all other ranks have read and are on their way to the close. Says "end", or FAIL.
 *
 * usage: late FOLDER FILE BYTES_OF_A_RANK PIECE [HANDLES] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int rank, ranks;

static void fail(const char* what) {
  printf("FAIL rank %d: %s\n", rank, what);
  fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static char byte_at(long at) { return (char)(at * 7 + at / 251); }

static void make(const char* path, long bytes) {
  FILE* file = fopen(path, "wb");
  if (file == NULL) fail("make");
  for (long at = 0; at < bytes; ++at) fputc(byte_at(at), file);
  if (fclose(file) != 0) fail("make");
}

static void name_of(char* name, size_t size, const char* folder, int handle, int of) {
  snprintf(name, size, "%s/has-read-%d-%d", folder, handle, of);
}

static void tell(const char* folder, int handle) {
  char name[4096];
  name_of(name, sizeof name, folder, handle, rank);
  make(name, 0);
}

/* No rank can see that another one is in MPI_File_close. A rank is there a while after it has read. */
static void wait_for_others(const char* folder, int handle) {
  for (int other = 0; other < rank; ++other) {
    char name[4096];
    name_of(name, sizeof name, folder, handle, other);
    for (int looks = 0; access(name, F_OK) != 0 && looks < 6000; ++looks) usleep(10000);
  }
  usleep(300000);
}

/* Each rank reads the part of a rank of another node. */
static void check(MPI_File fh, long bytes, int piece) {
  char* const data = malloc((size_t)piece);
  const long part = (rank + ranks / 2) % ranks * bytes;
  for (long begin = part; begin + piece <= part + bytes; begin += piece) {
    MPI_Status status;
    int count = 0;
    if (MPI_File_read_at(fh, begin, data, piece, MPI_BYTE, &status) != MPI_SUCCESS) fail("read");
    MPI_Get_count(&status, MPI_BYTE, &count);
    if (count != piece) fail("short read");
    for (long at = 0; at < piece; ++at)
      if (data[at] != byte_at(begin + at)) fail("wrong byte");
  }
  free(data);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* const folder = argv[1];
  const long bytes = atol(argv[3]);
  const int handles = argc > 5 ? atoi(argv[5]) : 1;
  MPI_File fh[2];
  if (rank == 0) make(argv[2], bytes * ranks);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < handles; ++i)
    if (MPI_File_open(MPI_COMM_WORLD, argv[2], MPI_MODE_RDONLY, MPI_INFO_NULL, &fh[i]) != MPI_SUCCESS)
      fail("open");
  for (int i = 0; i < handles; ++i) {
    if (rank == ranks - 1) wait_for_others(folder, i);
    check(fh[i], bytes, atoi(argv[4]));
    tell(folder, i);
    MPI_File_close(&fh[i]);
  }
  if (rank == 0) printf("end\n");
  MPI_Finalize();
  return 0;
}
