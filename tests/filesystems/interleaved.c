// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
//
// Ranks of several nodes write pieces that share pages of one file. Each rank then reads the pieces of a rank
// of another node, and at the end rank 0 reads the whole file by a new open. A file system without coherent
// caches shows every write that was made without the locks of the MPI library.
//
// usage: interleaved FILE CASE [+ CASE]...
//
// The cases write FILE.0, FILE.1, and so on. CASE is one of
//
// - records BYTES COUNT STEPS world|self: equal pieces, in turn; one handle of all ranks, or one of each rank
//
// - writes BYTES COUNT STEPS world|self: the same, but read only at the end
//
// - mixed BYTES LARGE COUNT world|self: small pieces, a barrier, large pieces between them
//
// - grow BYTES COUNT STEPS world|self: rank 0 alone extends the file; the others fill its holes
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;
static long long wrong, errors;
static unsigned char* data;
static MPI_File file;

// Steps in turn differ. The last bytes depend only on whether the number of steps is even.
static unsigned char byte_at(long long at, int step) {
  return (unsigned char)(at * 31 + (at >> 8) * 7 + (at >> 16) * 3 + step % 2 * 101 + 1);
}

static void put(long long at, long long bytes, int step) {
  for (long long i = 0; i < bytes; ++i) data[i] = byte_at(at + i, step);
  errors += MPI_File_write_at(file, at, data, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS;
}

static void check(long long at, long long bytes, int step) {
  memset(data, 0xEE, (size_t)bytes);
  errors += MPI_File_read_at(file, at, data, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS;
  for (long long i = 0; i < bytes; ++i) wrong += data[i] != byte_at(at + i, step);
}

// Each rank now finds what the others have written.
static void exchange(void) {
  errors += MPI_File_sync(file) != MPI_SUCCESS;
  MPI_Barrier(MPI_COMM_WORLD);
  errors += MPI_File_sync(file) != MPI_SUCCESS;
}

static void open_file(const char* path, int amode, int alone) {
  // With handles of single ranks, rank 0 makes the file.
  if (alone && rank != 0) MPI_Barrier(MPI_COMM_WORLD);
  const MPI_Comm comm = alone ? MPI_COMM_SELF : MPI_COMM_WORLD;
  if (MPI_File_open(comm, path, amode, MPI_INFO_NULL, &file) != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 3);
  if (alone && rank == 0) MPI_Barrier(MPI_COMM_WORLD);
}

// Returns the seconds of the writes. `words` are those of a CASE.
static double run(const char* path, char** words) {
  const int mixed = strcmp(words[0], "mixed") == 0, grows = strcmp(words[0], "grow") == 0;
  const int reads = strcmp(words[0], "writes") != 0;
  const long long small = atoll(words[1]), second = atoll(words[2]), third = atoll(words[3]);
  const int alone = strcmp(words[4], "self") == 0;
  const long long large = mixed ? second : 0, count = mixed ? third : second, steps = mixed ? 1 : third;
  const long long both = small + large;
  const int other = (rank + size / 2) % size;  // with blocks of ranks on two nodes: of the other node
  data = malloc((size_t)both);
  open_file(path, MPI_MODE_CREATE | MPI_MODE_RDWR, alone);
  double seconds = 0;
  for (int step = 0; step < steps; ++step) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    if (grows && rank == 0) put((count * size - 1) * both, small, step);
    if (grows) MPI_Barrier(MPI_COMM_WORLD);
    for (long long i = 0; i < count; ++i) put((i * size + rank) * both, small, step);
    if (mixed) MPI_Barrier(MPI_COMM_WORLD);
    for (long long i = 0; mixed && i < count; ++i) put((i * size + rank) * both + small, large, step);
    exchange();
    seconds += MPI_Wtime() - begin;
    for (long long i = 0; reads && i < count; ++i) check((i * size + other) * both, both, step);
    exchange();
  }
  errors += MPI_File_close(&file) != MPI_SUCCESS;
  MPI_Barrier(MPI_COMM_WORLD);
  open_file(path, MPI_MODE_RDONLY, alone);
  for (long long i = 0; rank == 0 && i < count * size; ++i) check(i * both, both, (int)steps - 1);
  errors += MPI_File_close(&file) != MPI_SUCCESS;
  free(data);
  return seconds;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 7 || (argc - 1) % 6 != 0) MPI_Abort(MPI_COMM_WORLD, 2);
  long long failed = 0;
  for (int first = 2; first < argc; first += 6) {
    char path[4096];
    snprintf(path, sizeof path, "%s.%d", argv[1], first / 6);
    wrong = errors = 0;
    const double seconds = run(path, argv + first);
    const long long mine[2] = {wrong, errors};
    long long all[2];
    MPI_Allreduce(mine, all, 2, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
      printf("%s: writes %.3f s, wrong bytes %lld, errors %lld\n", path, seconds, all[0], all[1]);
    failed += all[0] + all[1];
  }
  MPI_Finalize();
  return failed != 0;
}
