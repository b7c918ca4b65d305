/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every transfer function, one test each, named as in src/front/mpiio/table.py. usage: rows DIRECTORY
 * A write test leaves DIRECTORY/NAME, which the driver compares with what the stock library leaves; a read
 * test reads what this process has just written through another function and not yet synced. */
#include "check.h"

enum { N = 60, ROUNDS = 3 };
enum place { AT, INDIVIDUAL, SHARED, ORDERED };

/* One call by name; completes non-blocking and split ones. Returns the error, fills the status. */
static int invoke(const char* name, MPI_File fh, MPI_Offset off, int* buf, MPI_Status* st) {
  MPI_Request rq;
#define IS(f) if (strcmp(name, #f) == 0)
#define AT_ROW(f) IS(f) return MPI_File_##f(fh, off, buf, N, MPI_INT, st);
#define ROW(f) IS(f) return MPI_File_##f(fh, buf, N, MPI_INT, st);
#define IAT_ROW(f)                                      \
  IS(f) {                                               \
    CHECK(MPI_File_##f(fh, off, buf, N, MPI_INT, &rq)); \
    return MPI_Wait(&rq, st);                           \
  }
#define IROW(f)                                    \
  IS(f) {                                          \
    CHECK(MPI_File_##f(fh, buf, N, MPI_INT, &rq)); \
    return MPI_Wait(&rq, st);                      \
  }
#define SPLIT_AT(f, c)                                                        \
  if (strcmp(name, #f "_begin" #c) == 0 || strcmp(name, #f "_end" #c) == 0) { \
    CHECK(MPI_File_##f##_begin##c(fh, off, buf, N, MPI_INT));                 \
    return MPI_File_##f##_end(fh, buf, st);                                   \
  }
#define SPLIT(f, c)                                                           \
  if (strcmp(name, #f "_begin" #c) == 0 || strcmp(name, #f "_end" #c) == 0) { \
    CHECK(MPI_File_##f##_begin##c(fh, buf, N, MPI_INT));                      \
    return MPI_File_##f##_end(fh, buf, st);                                   \
  }
// Statements that are macros without semicolons:
// clang-format off
#define ALL(d, c)                                                       \
  AT_ROW(d##_at##c) AT_ROW(d##_at_all##c) ROW(d##c) ROW(d##_all##c)       \
  ROW(d##_shared##c) ROW(d##_ordered##c) IAT_ROW(i##d##_at##c)            \
  IAT_ROW(i##d##_at_all##c) IROW(i##d##c) IROW(i##d##_all##c)             \
  IROW(i##d##_shared##c) SPLIT_AT(d##_at_all, c) SPLIT(d##_all, c)        \
  SPLIT(d##_ordered, c)
  ALL(write, )
  ALL(read, )
#if MPI_VERSION >= 4
  ALL(write, _c)
  ALL(read, _c)
#endif
  return MPI_ERR_UNKNOWN;
  // clang-format on
}

static enum place place_of(const char* name) {
  if (strstr(name, "_shared")) return SHARED;
  if (strstr(name, "_ordered")) return ORDERED;
  return strstr(name, "_at") ? AT : INDIVIDUAL;
}

/* The value of element i of block b. Shared pointers give blocks to ranks in any order: equal blocks then. */
static int value(const char* name, int block, int i) {
  return (place_of(name) == SHARED ? 7 : block * 1000) + i;
}

static MPI_File open_with_view(const char* path, enum place place) {
  MPI_File fh;
  CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  if (place == INDIVIDUAL) { /* blocks of N ints, dealt to the ranks in turn, after a header of 12 bytes */
    MPI_Datatype tile;
    int size = N, all = N * nranks, start = N * rank;
    CHECK(MPI_Type_create_subarray(1, &all, &size, &start, MPI_ORDER_C, MPI_INT, &tile));
    CHECK(MPI_Type_commit(&tile));
    CHECK(MPI_File_set_view(fh, 12, MPI_INT, tile, "native", MPI_INFO_NULL));
    CHECK(MPI_Type_free(&tile));
  } else {
    CHECK(MPI_File_set_view(fh, 12, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  }
  return fh;
}

static void check_status(MPI_Status* st) {
  int count = -1, elements = -1;
  CHECK(MPI_Get_count(st, MPI_INT, &count));
  CHECK(MPI_Get_elements(st, MPI_INT, &elements));
  EXPECT(count == N && elements == N);
}

static void check_bytes(const char* name, const char* path) {
  FILE* in = fopen(path, "rb");
  int got[N], bad = in == NULL || fseek(in, 12, SEEK_SET) != 0;
  for (int block = 0; !bad && block < ROUNDS * nranks; ++block) {
    bad = fread(got, sizeof(int), N, in) != N;
    for (int i = 0; !bad && i < N; ++i) bad = got[i] != value(name, block, i);
  }
  if (in) fclose(in);
  EXPECT(!bad);
}

static void test_write(const char* name, const char* path) {
  enum place place = place_of(name);
  MPI_File fh = open_with_view(path, place);
  for (int k = 0; k < ROUNDS; ++k) {
    int buf[N], block = k * nranks + rank;
    MPI_Status st;
    memset(&st, 0x55, sizeof st);
    for (int i = 0; i < N; ++i) buf[i] = value(name, block, i);
    CHECK(invoke(name, fh, (MPI_Offset)block * N, buf, k == 1 ? MPI_STATUS_IGNORE : &st));
    if (k != 1) check_status(&st);
    if (place == INDIVIDUAL) {
      MPI_Offset at = -1;
      CHECK(MPI_File_get_position(fh, &at));
      EXPECT(at == (MPI_Offset)(k + 1) * N);
    }
  }
  CHECK(MPI_File_close(&fh));
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) check_bytes(name, path);
}

static void test_read(const char* name, const char* path) {
  enum place place = place_of(name);
  MPI_File fh = open_with_view(path, place);
  for (int k = 0; k < ROUNDS; ++k) {
    int buf[N], block = k * nranks + rank;
    for (int i = 0; i < N; ++i) buf[i] = value(name, block, i);
    CHECK(MPI_File_write_at(fh, place == INDIVIDUAL ? (MPI_Offset)k * N : (MPI_Offset)block * N, buf, N,
                            MPI_INT, MPI_STATUS_IGNORE));
  }
  /* Only through a shared pointer does a rank read what another one wrote: the standard asks for this. */
  if (place == SHARED || place == ORDERED) {
    CHECK(MPI_File_sync(fh));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_sync(fh));
  }
  for (int k = 0; k < ROUNDS; ++k) {
    int buf[N], bad = 0, block = k * nranks + rank;
    MPI_Status st;
    memset(&st, 0x55, sizeof st);
    memset(buf, 0, sizeof buf);
    CHECK(invoke(name, fh, (MPI_Offset)block * N, buf, &st));
    check_status(&st);
    for (int i = 0; i < N; ++i) bad |= buf[i] != value(name, block, i);
    EXPECT(!bad);
  }
  CHECK(MPI_File_close(&fh));
}

int main(int argc, char** argv) {
  static const char* const bases[] = {"_at", "_at_all", "", "_all", "_shared", "_ordered"};
  static const char* const splits[] = {"_at_all", "_all", "_ordered"};
  char name[64], path[4096];
  start(&argc, &argv);
  for (int large = 0; large <= (MPI_VERSION >= 4); ++large)
    for (int reads = 0; reads < 2; ++reads)
      for (int variant = 0; variant < 18; ++variant) {
        const char* direction = reads ? "read" : "write";
        if (variant < 12) {
          if (variant == 11) continue; /* there is no iwrite_ordered */
          snprintf(name, sizeof name, "%s%s%s%s", variant >= 6 ? "i" : "", direction, bases[variant % 6],
                   large ? "_c" : "");
        } else {
          int end = variant >= 15;
          if (end && large) continue;
          snprintf(name, sizeof name, "%s%s_%s%s", direction, splits[variant % 3], end ? "end" : "begin",
                   large ? "_c" : "");
        }
        snprintf(path, sizeof path, "%s/%s", argv[1], name);
        (reads ? test_read : test_write)(name, path);
        passed(name);
      }
  return finish();
}
