/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each rank begins non-blocking reads and a split collective. It says whether they have returned before their
 * bytes have come, and then ends them:
 *
 *   wait      in any way of MPI; it frees the datatypes and one request before
 *   close     MPI_File_close comes first
 *   finalize  the program ends without a wait, after a barrier
 *   large     like wait, with more bytes than the window of the rank has
 *
 * The reads begin when FOLDER/go is there.
 *
 * usage: ireads FOLDER FILE MODE */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READS = 5, BLOCK = 3000, UNTOUCHED = 0x55 };

static int rank, ranks, file, blocks;
static unsigned char *into[READS], *right, *split;

static void expect(int holds, const char* what) {
  if (holds) return;
  printf("FAIL: rank %d: %s\n", rank, what);
  fflush(stdout);
}

static int bytes(void) { return blocks * BLOCK; }

/* Every `ranks`-th block of the file belongs to this rank. */
static void expect_bytes(const unsigned char* got, int first, const char* what) {
  for (int i = 0; i < blocks; ++i) {
    const off_t at = (off_t)(first + i) * ranks + rank;
    expect(pread(file, right, BLOCK, at * BLOCK) == BLOCK, "the file is too short");
    if (memcmp(got + (size_t)i * BLOCK, right, BLOCK) != 0) return expect(0, what);
  }
}

static void expect_status(MPI_Status* status) {
  int count = -1, cancelled = 1;
  MPI_Get_count(status, MPI_BYTE, &count);
  MPI_Test_cancelled(status, &cancelled);
  expect(count == bytes() && !cancelled, "the status is wrong");
}

static int untouched(const unsigned char* room) {
  int same = 0;
  for (int i = 0; i < bytes(); ++i) same += room[i] == UNTOUCHED;
  return same == bytes();
}

static void begin(MPI_File fh, MPI_Request* requests) {
  MPI_Datatype memory;
  MPI_Type_contiguous(BLOCK, MPI_BYTE, &memory);
  MPI_Type_commit(&memory);
  MPI_File_iread_at(fh, 0, into[0], bytes(), MPI_BYTE, &requests[0]);
  MPI_File_iread_at(fh, 2 * (MPI_Offset)bytes(), into[2], blocks, memory, &requests[2]);
  MPI_File_iread_at_all(fh, (MPI_Offset)bytes(), into[1], bytes(), MPI_BYTE, &requests[1]);
  MPI_File_seek(fh, 3 * (MPI_Offset)bytes(), MPI_SEEK_SET);
  MPI_File_iread(fh, into[3], blocks, memory, &requests[3]);
  MPI_File_iread_all(fh, into[4], bytes(), MPI_BYTE, &requests[4]);
  MPI_File_read_all_begin(fh, split, bytes(), MPI_BYTE);
  MPI_Type_free(&memory);
  int early = untouched(split);
  for (int i = 0; i < READS; ++i) early += untouched(into[i]);
  printf("rank %d: %d reads returned before their bytes\n", rank, early);
  fflush(stdout);
}

static void end(MPI_File* fh, MPI_Request* requests, const char* mode) {
  MPI_Status statuses[READS];
  int done = 0;
  if (strcmp(mode, "close") == 0) {
    MPI_File_close(fh);
    for (int i = 0; i < READS; ++i) expect_bytes(into[i], i * blocks, "a read that close has ended");
    MPI_Waitall(READS, requests, MPI_STATUSES_IGNORE);
    return;
  }
  MPI_Request_get_status(requests[2], &done, &statuses[2]);
  if (done) expect_status(&statuses[2]);
  if (done) expect_bytes(into[2], 2 * blocks, "a read that MPI_Request_get_status calls complete");
  MPI_Cancel(&requests[3]);
  MPI_Wait(&requests[3], MPI_STATUS_IGNORE);
  expect_bytes(into[3], 3 * blocks, "MPI_File_iread");
  MPI_Request_free(&requests[4]);
  expect_bytes(into[4], 4 * blocks, "MPI_File_iread_all, freed");
  while (!done || requests[0] != MPI_REQUEST_NULL) MPI_Test(&requests[0], &done, &statuses[0]);
  expect_status(&statuses[0]);
  expect_bytes(into[0], 0, "MPI_File_iread_at");
  for (done = 0; !done;) MPI_Testall(2, requests + 1, &done, statuses + 1);
  expect_status(&statuses[1]);
  expect_status(&statuses[2]);
  expect_bytes(into[1], blocks, "MPI_File_iread_at_all");
  expect_bytes(into[2], 2 * blocks, "MPI_File_iread_at of a datatype");
  MPI_File_read_all_end(*fh, split, &statuses[0]);
  expect_status(&statuses[0]);
  expect_bytes(split, 5 * blocks, "MPI_File_read_all_begin");
  MPI_Offset position = 0;
  MPI_File_get_position(*fh, &position);
  expect(position == 6 * (MPI_Offset)bytes(), "the position is wrong");
  MPI_File_close(fh);
}

int main(int argc, char** argv) {
  char go[4096];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 4) MPI_Abort(MPI_COMM_WORLD, 2);
  const char* mode = argv[3];
  blocks = strcmp(mode, "large") == 0 ? 400 : 100;
  right = malloc(BLOCK);
  split = malloc((size_t)bytes());
  memset(split, UNTOUCHED, (size_t)bytes());
  for (int i = 0; i < READS; ++i) {
    into[i] = malloc((size_t)bytes());
    memset(into[i], UNTOUCHED, (size_t)bytes());
  }
  file = open(argv[2], O_RDONLY);
  MPI_File fh;
  MPI_Datatype block, tile;
  MPI_Request requests[READS];
  if (MPI_File_open(MPI_COMM_WORLD, argv[2], MPI_MODE_RDONLY, MPI_INFO_NULL, &fh) != MPI_SUCCESS)
    MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Type_contiguous(BLOCK, MPI_BYTE, &block);
  MPI_Type_create_resized(block, 0, (MPI_Aint)BLOCK * ranks, &tile);
  MPI_Type_commit(&tile);
  MPI_File_set_view(fh, (MPI_Offset)BLOCK * rank, MPI_BYTE, tile, "native", MPI_INFO_NULL);
  MPI_Type_free(&block);
  MPI_Type_free(&tile);
  /* All agents know each other before one of them stops. */
  MPI_File_read_at(fh, 6 * (MPI_Offset)bytes(), into[0], bytes(), MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_sync(fh);
  memset(into[0], UNTOUCHED, (size_t)bytes());
  MPI_Barrier(MPI_COMM_WORLD);
  printf("ready %d\n", rank);
  fflush(stdout);
  snprintf(go, sizeof go, "%s/go", argv[1]);
  while (access(go, F_OK) != 0) usleep(10000);
  begin(fh, requests);
  if (strcmp(mode, "finalize") != 0) end(&fh, requests, mode);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("end\n");
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
