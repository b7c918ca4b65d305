/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Opens files for reading in unusual ways. Byte i of FILE is i / 4096 + i % 251.
 *   read: all ranks. two: two handles at once. threads: two threads, one of them for its rank alone.
 *   rest: without the first rank of each node. errors: opens that the library refuses. They print their error
 *   classes.
 *   grow: MPI_File_set_size and MPI_File_preallocate make FILE longer.
 *   new, replaced: rank 1 makes or replaces FILE.new or FILE.replaced while the other ranks wait in
 * MPI_File_open.
 *
 * usage: opens FILE read | two | threads | rest | errors | grow | new | replaced */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 4096, PIECES = 200 };

static int rank, ranks;
static const char* path;

static void fail(const char* what) {
  printf("FAIL rank %d: %s\n", rank, what);
  fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static MPI_File open_file(MPI_Comm comm) {
  MPI_File fh = MPI_FILE_NULL;
  if (MPI_File_open(comm, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh) != MPI_SUCCESS) fail("open");
  return fh;
}

/* The ranks read small pieces in turns. */
static void check(MPI_File fh) {
  static _Thread_local unsigned char data[PIECE];
  for (int i = 0; i < PIECES; ++i) {
    const MPI_Offset begin = (MPI_Offset)PIECE * (i * ranks + rank);
    MPI_Status status;
    int count = 0;
    memset(data, 0, sizeof data);
    if (MPI_File_read_at(fh, begin, data, PIECE, MPI_BYTE, &status) != MPI_SUCCESS) fail("read");
    MPI_Get_count(&status, MPI_BYTE, &count);
    if (count != PIECE) fail("short read");
    for (MPI_Offset at = begin; at < begin + PIECE; ++at)
      if (data[at - begin] != (unsigned char)(at / 4096 + at % 251)) fail("wrong byte");
  }
}

static void* read_in_thread(void* comm) {
  MPI_File fh = open_file(*(MPI_Comm*)comm);
  check(fh);
  MPI_File_close(&fh);
  return NULL;
}

static void in_threads(void) {
  MPI_Comm comms[2];
  pthread_t other;
  /* ROMIO prepares itself at its first open. Two threads that come there at once find it half prepared. */
  MPI_File none = MPI_FILE_NULL;
  if (MPI_File_open(MPI_COMM_SELF, "/nowhere/none", MPI_MODE_RDONLY, MPI_INFO_NULL, &none) == MPI_SUCCESS)
    fail("open of nothing");
  /* Two collective opens at once would be too many for ROMIO: the ranks wait for each other's lock. */
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
  MPI_Comm_dup(MPI_COMM_SELF, &comms[1]);
  if (pthread_create(&other, NULL, read_in_thread, &comms[1]) != 0) fail("thread");
  read_in_thread(&comms[0]);
  pthread_join(other, NULL);
  for (int i = 0; i < 2; ++i) MPI_Comm_free(&comms[i]);
}

static void at_once(void) {
  MPI_File first = open_file(MPI_COMM_WORLD), second = open_file(MPI_COMM_WORLD);
  check(first);
  check(second);
  MPI_File_close(&first);
  MPI_File_close(&second);
}

static int place_on_node(void) {
  MPI_Comm node;
  int place = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &place);
  MPI_Comm_free(&node);
  return place;
}

static void without_first(void) {
  MPI_Comm comm;
  const int place = place_on_node();
  MPI_Comm_split(MPI_COMM_WORLD, place == 0, 0, &comm);
  if (place != 0) (void)read_in_thread(&comm);
  MPI_Comm_free(&comm);
}

static void refused(const char* what, MPI_Comm comm, int amode) {
  MPI_File fh = MPI_FILE_NULL;
  int class = MPI_SUCCESS;
  const int error = MPI_File_open(comm, path, amode, MPI_INFO_NULL, &fh);
  if (error == MPI_SUCCESS) fail(what);
  MPI_Error_class(error, &class);
  printf("rank %d: %s: error class %d\n", rank, what, class);
  fflush(stdout);
}

/* Which errors the library raises on the way depends on the library. */
static void raised(MPI_Comm* comm, int* error, ...) {
  int class = MPI_SUCCESS;
  (void)comm;
  MPI_Error_class(*error, &class);
  printf("rank %d: handler: error class %d\n", rank, class);
}

static void with_errors(void) {
  MPI_Comm half, between;
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(raised, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &between);
  MPI_Comm_set_errhandler(between, handler);
  refused("communicator of two groups", between, MPI_MODE_RDONLY);
  refused("no communicator", MPI_COMM_NULL, MPI_MODE_RDONLY);
#ifdef MPICH_VERSION
  refused("invalid communicator", (MPI_Comm)0x0badc0de, MPI_MODE_RDONLY);
#endif
  refused("no access", MPI_COMM_WORLD, 0);
  refused("two accesses", MPI_COMM_WORLD, MPI_MODE_RDONLY | MPI_MODE_CREATE);
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
}

/* Rank 1 gives the file a new body whose bytes are all `byte`. */
static void replace(char byte) {
  enum { SIZE = 5 << 20 };
  char name[4096];
  char* body = malloc(SIZE);
  snprintf(name, sizeof name, "%s.part", path);
  FILE* file = fopen(name, "w");
  if (body == NULL || file == NULL) fail("make");
  memset(body, byte, SIZE);
  if (fwrite(body, 1, SIZE, file) != SIZE || fclose(file) != 0 || rename(name, path) != 0) fail("make");
  free(body);
}

/* MPI_File_open of the stock libraries meets all ranks before it looks at the file. */
static void while_others_wait(const char* how) {
  static char name[4096];
  const int anew = strcmp(how, "new") == 0;
  const char* start = path;
  path = name;
  for (int round = 0; round < 3; ++round) {
    snprintf(name, sizeof name, "%s.%s%d", start, how, anew ? round : 0);
    if (!anew && round == 0 && rank == 1) replace('.');
    if (!anew && round == 0) sleep(2); /* longer than caches last */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
      usleep(300000);
      replace((char)('a' + round));
    }
    MPI_File fh = open_file(MPI_COMM_WORLD);
    for (int i = 0; i < 10; ++i) {
      char byte = 0;
      MPI_File_read_at(fh, 4096 * (ranks * i + rank), &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE);
      if (byte != 'a' + round) fail("a byte of another file");
    }
    MPI_File_close(&fh);
  }
}

static void good(int error, const char* what) {
  if (error != MPI_SUCCESS) fail(what);
}

/* In MPI_File_preallocate of Open MPI 4.1 a rank that comes late finds the file long enough and leaves out a
 * broadcast. The next broadcasts on this file give wrong values, and MPI_File_set_size fails or waits for
 * ever. So it comes last. */
#ifdef OPEN_MPI
static const int preallocates_once = 1;
#else
static const int preallocates_once = 0;
#endif

/* The file gets longer by a collective call, and each rank at once reads new zeros at its end. */
static void grow(void) {
  enum { ROUNDS = 6, PIECES = 8, PIECE = 64 };
  MPI_File fh = MPI_FILE_NULL;
  char data[PIECE];
  const MPI_Offset all = (MPI_Offset)PIECE * ranks;
  const int amode = MPI_MODE_CREATE | MPI_MODE_RDWR;
  if (MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, &fh) != MPI_SUCCESS) fail("open");
  for (int round = 0; round < ROUNDS; ++round) {
    memset(data, 'a' + round, PIECE);
    const int preallocates = preallocates_once ? round == ROUNDS - 1 : round % 2 != 0;
    good(MPI_File_set_size(fh, 0), "set_size to 0");
    for (int i = 0; i < PIECES; ++i) {
      const MPI_Offset at = all * i + (MPI_Offset)PIECE * rank;
      MPI_File_write_at(fh, at, data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    good(MPI_File_set_size(fh, all * 3), "set_size");
    MPI_Barrier(MPI_COMM_WORLD);
    if (preallocates)
      good(MPI_File_preallocate(fh, all * 12), "preallocate");
    else
      good(MPI_File_set_size(fh, all * 12), "set_size to more");
    for (int i = 0; i < 2; ++i) {
      MPI_Status status;
      int count = 0;
      memset(data, 7, PIECE);
      MPI_File_read_at(fh, i == 0 ? all * 3 + 17 : all * 12 - PIECE, data, 47, MPI_BYTE, &status);
      MPI_Get_count(&status, MPI_BYTE, &count);
      if (count != 47) fail("a read beyond the old end");
      for (int at = 0; at < 47 && !preallocates; ++at) /* Open MPI preallocates with any bytes */
        if (data[at] != 0) fail("a byte that nobody has written");
    }
    MPI_Offset size = 0;
    MPI_File_get_size(fh, &size);
    if (size != all * 12) fail("the new size");
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_File_close(&fh);
}

int main(int argc, char** argv) {
  int provided = 0;
  if (argc != 3) return 2;
  const int threads = strcmp(argv[2], "threads") == 0;
  path = argv[1];
  MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (threads && provided != MPI_THREAD_MULTIPLE) fail("no MPI_THREAD_MULTIPLE");
  if (threads)
    in_threads();
  else if (strcmp(argv[2], "two") == 0)
    at_once();
  else if (strcmp(argv[2], "rest") == 0)
    without_first();
  else if (strcmp(argv[2], "errors") == 0)
    with_errors();
  else if (strcmp(argv[2], "grow") == 0)
    grow();
  else if (strcmp(argv[2], "new") == 0 || strcmp(argv[2], "replaced") == 0)
    while_others_wait(argv[2]);
  else
    (void)read_in_thread(&(MPI_Comm){MPI_COMM_WORLD});
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("end\n");
  MPI_Finalize();
  return 0;
}
