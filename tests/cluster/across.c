/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Files that several nodes have open, in the ways that other programs do not: one function each.
 * Says "pass NAME" for each that was right, FAIL and why, and at the end "end".
 *
 * usage: across FOLDER [NAME...] */
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 1000, PIECES = 40, MANY = 50, TIMES = 30 };

static int rank, ranks, failures;
static const char* folder;

static void fail(const char* format, ...) {
  va_list words;
  va_start(words, format);
  printf("FAIL rank %d: ", rank);
  vprintf(format, words);
  printf("\n");
  fflush(stdout);
  va_end(words);
  ++failures;
}

static void check(int error, const char* what) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (error == MPI_SUCCESS) return;
  MPI_Error_string(error, text, &length);
  fail("%s: %s", what, text);
}

static void fill(unsigned char* data, MPI_Offset offset, long size, int file) {
  for (long i = 0; i < size; ++i)
    data[i] = (unsigned char)((offset + i) * 7 + ((offset + i) >> 10) + file * 13);
}

static const char* path_of(const char* name, int number) {
  static char path[4096];
  snprintf(path, sizeof path, "%s/%s-%d", folder, name, number);
  return path;
}

static MPI_File open_file(MPI_Comm comm, const char* name, int number) {
  MPI_File fh = MPI_FILE_NULL;
  check(MPI_File_open(comm, path_of(name, number), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh),
        "open");
  return fh;
}

/* Pieces of the communicator's ranks alternate. */
static void write_part(MPI_Comm comm, MPI_File fh, int file, long piece, long first, long last) {
  int me = 0, all = 1;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &all);
  unsigned char* data = malloc((size_t)piece);
  for (long i = first; i < last; ++i) {
    const MPI_Offset offset = (i * all + me) * piece;
    fill(data, offset, piece, file);
    check(MPI_File_write_at(fh, offset, data, (int)piece, MPI_BYTE, MPI_STATUS_IGNORE), "write");
  }
  free(data);
}

static void read_part(MPI_File fh, int file, MPI_Offset offset, long size, const char* when) {
  unsigned char* expected = malloc((size_t)size);
  unsigned char* data = calloc(1, (size_t)size);
  fill(expected, offset, size, file);
  check(MPI_File_read_at(fh, offset, data, (int)size, MPI_BYTE, MPI_STATUS_IGNORE), "read");
  long bad = 0;
  for (long i = 0; i < size; ++i) bad += data[i] != expected[i];
  if (bad != 0) fail("%s: %ld of %ld bytes from %lld are wrong", when, bad, size, (long long)offset);
  free(data);
  free(expected);
}

/* After all have closed. */
static void verify(MPI_Comm comm, const char* name, int file, long size) {
  int me = 0;
  MPI_Comm_rank(comm, &me);
  MPI_Barrier(comm);
  if (me == 0) {
    unsigned char* expected = malloc((size_t)size + 1);
    unsigned char* data = malloc((size_t)size + 1);
    FILE* in = fopen(path_of(name, file), "rb");
    const size_t got = in != NULL ? fread(data, 1, (size_t)size + 1, in) : 0;
    if (in != NULL) fclose(in);
    fill(expected, 0, size, file);
    if (got != (size_t)size || memcmp(data, expected, (size_t)size) != 0)
      fail("%s-%d: %zu of %ld bytes, or wrong ones", name, file, got, size);
    free(data);
    free(expected);
  }
  MPI_Barrier(comm);
}

static void whole_file(MPI_Comm comm, const char* name, int file, long pieces) {
  int all = 1;
  MPI_Comm_size(comm, &all);
  MPI_File fh = open_file(comm, name, file);
  write_part(comm, fh, file, PIECE, 0, pieces);
  check(MPI_File_close(&fh), "close");
  verify(comm, name, file, (long)all * pieces * PIECE);
}

/* Rank 0 stays out; then its whole node, if two ranks share it; then every other rank. */
static void parts(void) {
  const int colours[3] = {rank == 0, rank < 2, rank % 2};
  for (int i = 0; i < 3; ++i) {
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, i < 2 && colours[i] ? MPI_UNDEFINED : colours[i], rank, &comm);
    if (comm == MPI_COMM_NULL) continue;
    whole_file(comm, "parts", 10 * i + (i == 2 ? colours[i] : 0), PIECES);
    MPI_Comm_free(&comm);
  }
}

static void self(void) { whole_file(MPI_COMM_SELF, "self", rank, PIECES); }

static void many(void) {
  MPI_File files[MANY];
  for (int i = 0; i < MANY; ++i) files[i] = open_file(MPI_COMM_WORLD, "many", i);
  for (int step = 0; step < 4; ++step) {
    for (int i = 0; i < MANY; ++i) write_part(MPI_COMM_WORLD, files[i], i, PIECE, step, step + 1);
  }
  for (int i = 0; i < MANY; ++i) check(MPI_File_close(&files[i]), "close");
  for (int i = 0; i < MANY; ++i) verify(MPI_COMM_WORLD, "many", i, 4L * ranks * PIECE);
}

static void two_handles(void) {
  MPI_File one = open_file(MPI_COMM_WORLD, "two", 0);
  MPI_File other = open_file(MPI_COMM_WORLD, "two", 0);
  write_part(MPI_COMM_WORLD, one, 0, PIECE, 0, PIECES / 2);
  write_part(MPI_COMM_WORLD, other, 0, PIECE, PIECES / 2, PIECES);
  check(MPI_File_sync(one), "sync");
  check(MPI_File_sync(other), "sync");
  MPI_Barrier(MPI_COMM_WORLD);
  read_part(other, 0, 0, (long)PIECES * ranks * PIECE, "through the other handle");
  check(MPI_File_close(&one), "close");
  check(MPI_File_close(&other), "close");
  verify(MPI_COMM_WORLD, "two", 0, (long)ranks * PIECES * PIECE);
}

static void nothing(void) {
  MPI_File fh = open_file(MPI_COMM_WORLD, "nothing", 0);
  check(MPI_File_close(&fh), "close");
  verify(MPI_COMM_WORLD, "nothing", 0, 0);
  for (int writer = 0; writer < ranks; ++writer) { /* one rank alone writes */
    unsigned char data[PIECE];
    fh = open_file(MPI_COMM_WORLD, "nothing", 1 + writer);
    fill(data, 0, PIECE, 1 + writer);
    if (rank == writer) check(MPI_File_write_at(fh, 0, data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE), "write");
    check(MPI_File_close(&fh), "close");
    verify(MPI_COMM_WORLD, "nothing", 1 + writer, PIECE);
  }
}

/* One file again and again: what is left of the last open must not meet the next. */
static void quick(void) {
  for (int i = 0; i < TIMES; ++i) {
    MPI_File fh = open_file(MPI_COMM_WORLD, "quick", 0);
    if (i % 3 != 2) write_part(MPI_COMM_WORLD, fh, 0, PIECE, i % 3, i % 3 + 1);
    check(MPI_File_close(&fh), "close");
  }
  verify(MPI_COMM_WORLD, "quick", 0, 2L * ranks * PIECE);
}

static void read_back(void) {
  MPI_File fh = open_file(MPI_COMM_WORLD, "back", 0);
  for (int i = 0; i < 5; ++i) {
    write_part(MPI_COMM_WORLD, fh, 0, PIECE, i * 8, i * 8 + 8);
    check(MPI_File_sync(fh), "sync");
    MPI_Barrier(MPI_COMM_WORLD);
    check(MPI_File_sync(fh), "sync");
    read_part(fh, 0, (MPI_Offset)i * 8 * ranks * PIECE, 8L * ranks * PIECE, "after sync");
    MPI_Barrier(MPI_COMM_WORLD);
  }
  check(MPI_File_close(&fh), "close");
  verify(MPI_COMM_WORLD, "back", 0, 40L * ranks * PIECE);
}

/* More than MILLRACE_SORT_BUFFER=1MiB holds. */
static void large(void) { whole_file(MPI_COMM_WORLD, "large", 0, 2500); }

/* The ranks write the same bytes in turn, with a barrier between them: the last one's stay. */
static void barrier(void) {
  unsigned char data[PIECE];
  MPI_File fh = open_file(MPI_COMM_WORLD, "barrier", 0);
  for (int turn = 0; turn < TIMES; ++turn) {
    memset(data, turn, PIECE);
    if (turn % ranks == rank)
      check(MPI_File_write_at(fh, turn, data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE), "write");
    MPI_Barrier(MPI_COMM_WORLD);
  }
  check(MPI_File_close(&fh), "close");
  MPI_Barrier(MPI_COMM_WORLD);
  fh = open_file(MPI_COMM_WORLD, "barrier", 0);
  check(MPI_File_read_at(fh, 0, data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE), "read");
  for (int i = 0; i < PIECE; ++i) {
    if (data[i] == (i < TIMES - 1 ? i : TIMES - 1)) continue;
    fail("byte %d was written in turn %d", i, data[i]);
    break;
  }
  check(MPI_File_close(&fh), "close");
}

/* What ranks wrote before a barrier is there for what others do after it: reads, and writes of any size that
 * the MPI library makes itself. */
static void after_barrier(void) {
  enum { LARGE = 3 << 20 };
  unsigned char* data = malloc(LARGE);
  MPI_Offset size = 0;
  MPI_File fh = open_file(MPI_COMM_WORLD, "after", 0);
  for (int turn = 0; turn < TIMES; ++turn) {
    const MPI_Offset offset = (MPI_Offset)(turn % 5) * 4096;
    const int reader = (turn + ranks / 2) % ranks;
    memset(data, 100 + turn, PIECE);
    if (turn % ranks == rank)
      check(MPI_File_write_at(fh, offset, data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE), "write");
    MPI_Barrier(MPI_COMM_WORLD);
    memset(data, 0, PIECE);
    if (reader == rank) {
      check(MPI_File_read_at(fh, offset, data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE), "read");
      if (data[0] != 100 + turn || data[PIECE - 1] != 100 + turn)
        fail("turn %d: read %d, %d", turn, data[0], data[PIECE - 1]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  memset(data, 7, LARGE);
  if (rank == ranks - 1) /* over all of it, after the last small write of somebody else */
    check(MPI_File_write_at(fh, 0, data, LARGE, MPI_BYTE, MPI_STATUS_IGNORE), "write");
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    check(MPI_File_write_at(fh, LARGE - 1, "end", 3, MPI_BYTE, MPI_STATUS_IGNORE), "write");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  check(MPI_File_get_size(fh, &size), "get_size");
  if (size != LARGE + 2) fail("size %lld", (long long)size);
  check(MPI_File_close(&fh), "close");
  MPI_Barrier(MPI_COMM_WORLD);
  FILE* in = rank == 0 ? fopen(path_of("after", 0), "rb") : NULL;
  if (in != NULL) {
    long bad = 0;
    const size_t got = fread(data, 1, LARGE, in);
    for (long i = 0; i < LARGE - 1; ++i) bad += data[i] != 7;
    if (got != LARGE || bad != 0 || data[LARGE - 1] != 'e') fail("%ld of the large write are wrong", bad);
    fclose(in);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  free(data);
}

/* Rank 0 has the file open alone before all open it, and goes on to use both handles. Turns as above; rank
 * 0's are by one handle, then by the other. */
static void self_first(void) {
  unsigned char data[PIECE];
  MPI_File alone = rank == 0 ? open_file(MPI_COMM_SELF, "self_first", 0) : MPI_FILE_NULL;
  memset(data, 255, PIECE);
  if (rank == 0) check(MPI_File_write_at(alone, 0, data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE), "write");
  MPI_File fh = open_file(MPI_COMM_WORLD, "self_first", 0);
  for (int turn = 0; turn < TIMES; ++turn) {
    const int reader = (turn + ranks / 2) % ranks;
    memset(data, turn, PIECE);
    if (turn % ranks == rank) {
      MPI_File by = rank == 0 && turn % (2 * ranks) == 0 ? alone : fh;
      check(MPI_File_write_at(by, turn, data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE), "write");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (reader == rank) {
      memset(data, 255, PIECE);
      check(MPI_File_read_at(fh, 0, data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE), "read");
      for (int i = 0; i < PIECE; ++i) {
        if (data[i] == (i < turn ? i : turn)) continue;
        fail("turn %d: byte %d was written in turn %d", turn, i, data[i]);
        break;
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  check(MPI_File_close(&fh), "close");
  if (rank == 0) check(MPI_File_close(&alone), "close");
}

/* Collectives of two communicators have no order: some ranks start one of the world before they open a file
 * of another communicator, and some after it. It comes first, because the first open is a case of its own. */
static void beside(void) {
  MPI_Comm own;
  MPI_Request request;
  int value = rank, sum = 0;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  if (rank % 2 == 0) MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_File fh = open_file(own, "beside", 0);
  if (rank % 2 != 0) MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (sum != ranks * (ranks - 1) / 2) fail("the sum is %d", sum);
  write_part(own, fh, 0, PIECE, 0, PIECES);
  check(MPI_File_close(&fh), "close");
  MPI_Comm_free(&own);
}

static const struct {
  const char* name;
  void (*run)(void);
} tests[] = {{"beside", beside},
             {"parts", parts},
             {"self", self},
             {"many", many},
             {"two_handles", two_handles},
             {"nothing", nothing},
             {"quick", quick},
             {"read_back", read_back},
             {"large", large},
             {"barrier", barrier},
             {"after_barrier", after_barrier},
             {"self_first", self_first}};

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  folder = argv[1];
  int all = 0;
  for (size_t i = 0; i < sizeof tests / sizeof tests[0]; ++i) {
    int wanted = argc == 2;
    for (int word = 2; word < argc; ++word) wanted |= strcmp(argv[word], tests[i].name) == 0;
    if (!wanted) continue;
    const double start = MPI_Wtime();
    failures = 0;
    tests[i].run();
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && all == 0) printf("pass %s\n", tests[i].name);
    if (rank == 0) fprintf(stderr, "%s: %.1f s\n", tests[i].name, MPI_Wtime() - start);
    fflush(stdout);
  }
  if (rank == 0) printf("end\n");
  MPI_Finalize();
  return 0;
}
