/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Transfers whose memory is a device's, where TEST_DRIVER names a driver, and else the host's: statuses,
 * bytes and files have to be the same. With TEST_FAILURES=N the first call of the fake driver fails, then the
 * second, up to the N-th: ranks get an error, or all. TEST_MEMORY: a gpu_kind. */
#define _GNU_SOURCE
#include "../gpu.h"
#include "check.h"
#include "staging/testing/fake_cuda.h"

enum { room = 800 << 10, large = 700 * 1000 };

static char *memory, *bytes; /* as the calls get it; as its bytes can be looked at */
static char path[4096];
static MPI_File file;

static void set_up(void) {
  const char *name = getenv("TEST_DRIVER"), *kind = getenv("TEST_MEMORY");
  if (name == NULL) {
    memory = bytes = calloc(1, room);
    return;
  }
  if (!gpu_open(name, room, kind != NULL ? (unsigned)atoi(kind) : 0, 7)) MPI_Abort(MPI_COMM_WORLD, 3);
  memory = gpu_memory;
  bytes = gpu_bytes;
}

static void fill(unsigned seed) {
  uint32_t x = seed * 97 + (uint32_t)rank + 1;
  for (int i = 0; i < room; i++) {
    x = x * 1664525U + 1013904223U;
    bytes[i] = (char)(x >> 24);
  }
  gpu_upload(bytes, room);
}

static long sum(void) {
  uint32_t h = 2166136261U;
  gpu_download(bytes, room);
  for (int i = 0; i < room; i++) h = (h ^ (unsigned char)bytes[i]) * 16777619U;
  return (long)h;
}

static void answer(const char* what, MPI_Status* status, MPI_Datatype type) {
  int count = -1;
  MPI_Get_elements(status, MPI_BYTE, &count);
  long mine[2] = {count, sum()}, all[2] = {0, 0};
  (void)type;
  MPI_Reduce(mine, all, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("answer %s %ld %ld\n", what, all[0], all[1]);
}

static void begin(const char* name, int mode) {
  snprintf(path, sizeof path, "%s", name);
  CHECK(MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file));
}

/* Every blocking, non-blocking and split way, of so many bytes of data each, at places that do not overlap.
 */
static void write_all_ways(MPI_Datatype type, int count, int size, unsigned seed) {
  MPI_Status status;
  MPI_Request request;
  MPI_Offset mine = (MPI_Offset)rank * count * size, step = (MPI_Offset)nranks * count * size;
  int way = 0;
  fill(seed);
  CHECK(MPI_File_write_at(file, mine + way++ * step, memory, count, type, &status));
  answer("write_at", &status, type);
  fill(seed + 1);
  CHECK(MPI_File_write_at_all(file, mine + way++ * step, memory, count, type, &status));
  answer("write_at_all", &status, type);
  fill(seed + 2);
  CHECK(MPI_File_seek(file, mine + way++ * step, MPI_SEEK_SET));
  CHECK(MPI_File_write(file, memory, count, type, &status));
  answer("write", &status, type);
  fill(seed + 3);
  CHECK(MPI_File_seek(file, mine + way++ * step, MPI_SEEK_SET));
  CHECK(MPI_File_write_all(file, memory, count, type, &status));
  answer("write_all", &status, type);
  fill(seed + 4);
  CHECK(MPI_File_iwrite_at(file, mine + way++ * step, memory, count, type, &request));
  CHECK(MPI_Wait(&request, &status));
  answer("iwrite_at", &status, type);
  fill(seed + 5);
  CHECK(MPI_File_write_at_all_begin(file, mine + way++ * step, memory, count, type));
  CHECK(MPI_File_write_at_all_end(file, memory, &status));
  answer("write_at_all_begin", &status, type);
  fill(seed + 6);
  MPI_Offset place = -1;
  CHECK(MPI_File_get_position(file, &place));
  EXPECT(place == mine + 3 * step + (MPI_Offset)count * size);
}

static void read_all_ways(MPI_Datatype type, int count, int size, int writable) {
  MPI_Status status;
  MPI_Request request;
  MPI_Offset mine = (MPI_Offset)rank * count * size, step = (MPI_Offset)nranks * count * size;
  MPI_Offset last = 6 * step > 100 ? 6 * step - 100 : 0;
  if (writable) { /* it may be written, and some of it was by another rank */
    CHECK(MPI_File_sync(file));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_sync(file));
  }
  fill(1000);
  CHECK(MPI_File_read_at(file, mine, memory, count, type, &status));
  answer("read_at", &status, type);
  CHECK(MPI_File_read_at_all(file, mine + step, memory, count, type, &status));
  answer("read_at_all", &status, type);
  CHECK(MPI_File_seek(file, mine + 2 * step, MPI_SEEK_SET));
  CHECK(MPI_File_read(file, memory, count, type, &status));
  answer("read", &status, type);
  CHECK(MPI_File_read_all(file, memory, count, type, &status));
  answer("read_all", &status, type);
  CHECK(MPI_File_iread_at(file, mine + 3 * step, memory, count, type, &request));
  CHECK(MPI_Wait(&request, &status));
  answer("iread_at", &status, type);
  if (writable) {
    CHECK(MPI_File_read_at_all_begin(file, mine + 4 * step, memory, count, type));
    CHECK(MPI_File_read_at_all_end(file, memory, &status));
    answer("read_at_all_begin", &status, type);
  }
  if (type != MPI_BYTE) return; /* of memory with holes, libraries count what was asked for */
  CHECK(MPI_File_read_at(file, last, memory, count, type, &status));
  answer("at the end", &status, type);
}

static void sizes(const char* folder) {
  char name[4096];
  static const int of[] = {1, 100, 5000, large};
  for (int i = 0; i < 4; i++) {
    snprintf(name, sizeof name, "%s/bytes.%d", folder, of[i]);
    begin(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
    write_all_ways(MPI_BYTE, of[i], 1, (unsigned)i * 10);
    read_all_ways(MPI_BYTE, of[i], 1, 1);
    CHECK(MPI_File_close(&file));
    begin(name, MPI_MODE_RDONLY);
    read_all_ways(MPI_BYTE, of[i], 1, 0);
    CHECK(MPI_File_close(&file));
  }
  passed("sizes");
}

/* Holes in memory, also in falling order, and a view whose etype is no power of two; in the file all is
 * written, as libraries leave anything in holes. */
static void holes(const char* folder) {
  char name[4096];
  MPI_Datatype parts, falling, etype, blocks, filetype;
  int lengths[3] = {5, 1, 2}, places[3] = {40, 0, 20};
  CHECK(MPI_Type_vector(8, 30, 70, MPI_DOUBLE, &parts));
  CHECK(MPI_Type_indexed(3, lengths, places, MPI_INT, &falling));
  CHECK(MPI_Type_commit(&parts));
  CHECK(MPI_Type_commit(&falling));
  snprintf(name, sizeof name, "%s/holes", folder);
  begin(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  write_all_ways(parts, 3, 1920, 100);
  read_all_ways(parts, 3, 1920, 1);
  write_all_ways(falling, 9, 32, 200);
  read_all_ways(falling, 9, 32, 1);
  CHECK(MPI_File_close(&file));
  CHECK(MPI_Type_contiguous(24, MPI_BYTE, &etype));
  CHECK(MPI_Type_vector(10, 5, 5 * nranks, etype, &blocks));
  CHECK(MPI_Type_create_resized(blocks, 0, 50 * nranks * 24, &filetype));
  CHECK(MPI_Type_commit(&etype));
  CHECK(MPI_Type_commit(&filetype));
  snprintf(name, sizeof name, "%s/view", folder);
  begin(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  CHECK(MPI_File_set_view(file, 1000 + rank * 5 * 24, etype, filetype, "native", MPI_INFO_NULL));
  MPI_Status status;
  for (int i = 0; i < 3; i++) {
    int count = i == 2 ? 28000 : 50 * (i + 1); /* etypes */
    fill(300 + (unsigned)i);
    CHECK(MPI_File_write_all(file, memory, count, etype, &status));
    answer("write_all to a view", &status, etype);
    CHECK(MPI_File_write(file, memory, i + 1, parts, &status));
    answer("write of holes to a view", &status, etype);
  }
  CHECK(MPI_File_seek(file, 0, MPI_SEEK_SET));
  CHECK(MPI_File_sync(file));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_File_read_all(file, memory, 26000, etype, &status));
  answer("read_all of a view", &status, etype);
  CHECK(MPI_File_read_at(file, 3, memory, 2, parts, &status));
  answer("read of holes of a view", &status, etype);
  CHECK(MPI_File_close(&file));
  MPI_Type_free(&parts);
  MPI_Type_free(&falling);
  MPI_Type_free(&etype);
  MPI_Type_free(&blocks);
  MPI_Type_free(&filetype);
  passed("holes");
}

/* What is copied as a whole. */
static void not_cut(const char* folder) {
  char name[4096];
  MPI_Status status;
  snprintf(name, sizeof name, "%s/shared", folder);
  begin(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  fill(400);
  CHECK(MPI_File_write_ordered(file, memory, 10000, MPI_BYTE, &status));
  answer("write_ordered", &status, MPI_BYTE);
  CHECK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
  CHECK(MPI_File_read_ordered(file, memory, 4000, MPI_BYTE, &status));
  answer("read_ordered", &status, MPI_BYTE);
  CHECK(MPI_File_set_atomicity(file, 1));
  fill(500);
  CHECK(MPI_File_write_at(file, rank * 100000, memory, 60000, MPI_BYTE, &status));
  answer("write_at, atomic", &status, MPI_BYTE);
  MPI_Barrier(MPI_COMM_WORLD);
  fill(501);
  CHECK(MPI_File_read_at_all(file, 50000, memory, 70000, MPI_BYTE, &status));
  answer("read_at_all, atomic", &status, MPI_BYTE);
  CHECK(MPI_File_close(&file));
  passed("not_cut");
}

/* The N-th call of the driver fails, on the last rank: an error, or all is well; the others know nothing of
 * it. */
static void failing(const char* folder, unsigned n) {
  char name[4096];
  MPI_Status status;
  snprintf(name, sizeof name, "%s/failing", folder);
  begin(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  fill(600);
  if (rank == nranks - 1)
    ((void (*)(uint64_t, int))gpu_function("fake_cuda_fail_at"))(
        ((uint64_t(*)(void))gpu_function("fake_cuda_calls"))() + n, 719);
  int wrote = MPI_File_write_at_all(file, (MPI_Offset)rank * large, memory, large, MPI_BYTE, &status);
  EXPECT(wrote == MPI_SUCCESS || (rank == nranks - 1 && class_of(wrote) == MPI_ERR_IO));
  if (wrote != MPI_SUCCESS)
    CHECK(MPI_File_write_at(file, (MPI_Offset)rank * large, memory, large, MPI_BYTE, &status));
  CHECK(MPI_File_sync(file));
  long expected = sum();
  memset(bytes, 0, large);
  int got = MPI_File_read_at_all(file, (MPI_Offset)rank * large, memory, large, MPI_BYTE, &status);
  CHECK(got);
  EXPECT(sum() == expected);
  CHECK(MPI_File_close(&file));
  fake_cuda_live live;
  ((void (*)(fake_cuda_live*))gpu_function("fake_cuda_get_live"))(&live);
  EXPECT(live.misuse == 0 && live.stale == 0 && live.pushed == 1 && live.allocations == 1);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  const char* folder = argv[argc - 1];
  set_up();
  if (getenv("TEST_FAILURES") != NULL && gpu_driver != NULL) {
    for (int n = 1; n <= atoi(getenv("TEST_FAILURES")); n++) failing(folder, (unsigned)n);
    passed("failing");
  } else {
    sizes(folder);
    holes(folder);
    not_cut(folder);
  }
  return finish();
}
