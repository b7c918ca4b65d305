/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Ranks that cannot join read and write between what others write. The stock library's bytes are the right
 * ones. usage: unable DIRECTORY late|descriptors [at_open] */
#define _GNU_SOURCE
#include <sys/resource.h>

#include "handles.h"

/* Rank 0 writes, the last rank reads it and writes over it, and rank 0 once more. */
static void take_turns(MPI_File fh) {
  const int last = nranks - 1;
  for (int round = 0; round < 3; ++round) {
    const MPI_Offset at = round * 3 * bytes;
    if (rank == 0) put(fh, at, 3 * bytes, 'a' + round);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == last) {
      EXPECT(has(fh, at, 3 * bytes, 'a' + round));
      put(fh, at + bytes, bytes, 'A' + round);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT(has(fh, at + bytes, bytes, 'A' + round));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) put(fh, at + bytes, 10, '0' + round);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == last) put(fh, at + bytes + 5, 10, 'x');
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/* The last rank has no descriptors left when it first writes, or none when it opens. */
static int exhaust(int* fds, int leave) {
  int count = 0;
  while (count < many && (fds[count] = open("/dev/null", O_RDONLY)) >= 0) ++count;
  while (leave-- > 0 && count > 0) close(fds[--count]);
  return count;
}

static void test_no_descriptors(int when_opening) {
  const int last = rank == nranks - 1;
  const char* path = name_of(0, when_opening ? "no_descriptors_at_open" : "no_descriptors", 0);
  static int fds[many];
  struct rlimit before, few;
  getrlimit(RLIMIT_NOFILE, &before);
  few = before;
  few.rlim_cur = 256;
  if (rank == 0) make_empty(path);
  MPI_Barrier(MPI_COMM_WORLD);
  int held = 0;
  if (last) setrlimit(RLIMIT_NOFILE, &few);
  if (last && when_opening) held = exhaust(fds, 4);
  MPI_File fh = open_as(MPI_COMM_WORLD, path, MPI_MODE_RDWR);
  if (last && !when_opening) held = exhaust(fds, 0);
  take_turns(fh);
  for (int i = 0; i < held; ++i) close(fds[i]);
  if (last) setrlimit(RLIMIT_NOFILE, &before);
  CHECK(MPI_File_close(&fh));
  passed(when_opening ? "no_descriptors_at_open" : "no_descriptors");
}

/* The last rank tries to start an agent, in vain, before another one has. */
static void test_late(void) {
  const char* mine = name_of(0, "late_first", 1);
  if (rank == nranks - 1) setenv("MILLRACE_AGENT", "/nowhere/millraced", 1);
  MPI_File own = open_as(MPI_COMM_SELF, mine, create);
  if (rank == nranks - 1) put(own, 0, bytes, 'z');
  const char* path = name_of(0, "late", 0);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File fh = open_as(MPI_COMM_WORLD, path, create);
  if (rank == nranks - 1) put(fh, 100 * bytes, bytes, 'y');
  MPI_Barrier(MPI_COMM_WORLD);
  take_turns(fh);
  CHECK(MPI_File_close(&fh));
  CHECK(MPI_File_close(&own));
  passed("late");
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  directory = argv[1];
  MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
  if (argc > 2 && strcmp(argv[2], "late") == 0)
    test_late();
  else
    test_no_descriptors(argc > 3);
  return finish();
}
