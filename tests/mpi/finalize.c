/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * MPI_Finalize calls the delete callbacks of the attributes of MPI_COMM_SELF before anything else. MPI works
 * in them: HDF5 writes and closes there what the program left open. The last attribute goes first: MPICH's
 * ROMIO has one too, and cannot open files after it has gone. So the callback of an attribute that was set
 * after the first open opens, writes and closes a file; that of one that was set before, as HDF5's, writes to
 * a file that was opened in the program, reads it, and closes it. A third file is never closed. With exit,
 * main() returns after the first writes, and an exit handler that was registered before all does the rest: it
 * writes on, opens one more file, and calls MPI_Finalize. usage: finalize DIRECTORY [exit] */
#include <unistd.h>

#include "check.h"

enum { pieces = 64, piece_bytes = 96 };

static char directory[3500];
static MPI_File before, forgotten;

static MPI_File open_by_name(const char* name) {
  char path[4096];
  MPI_File fh = MPI_FILE_NULL;
  snprintf(path, sizeof path, "%s/%s", directory, name);
  CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  return fh;
}

static void fill(char* piece, int number) {
  for (int at = 0; at < piece_bytes; ++at) piece[at] = (char)(number * 31 + at * 7 + rank);
}

static MPI_Offset place(int number) { return ((MPI_Offset)number * nranks + rank) * piece_bytes; }

static void write_pieces(MPI_File fh, int first, int last) {
  char piece[piece_bytes];
  for (int number = first; number < last; ++number) {
    fill(piece, number);
    if (number % 2 == 0) {
      CHECK(MPI_File_write_at(fh, place(number), piece, piece_bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    } else {
      CHECK(MPI_File_write_at_all(fh, place(number), piece, piece_bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    }
  }
}

static void expect_pieces(MPI_File fh, int last) {
  char piece[piece_bytes], found[piece_bytes];
  for (int number = 0; number < last; ++number) {
    fill(piece, number);
    CHECK(MPI_File_read_at(fh, place(number), found, piece_bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    EXPECT(memcmp(piece, found, piece_bytes) == 0);
  }
}

static int write_late(MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)comm, (void)keyval, (void)value, (void)extra;
  MPI_File late = open_by_name("late");
  write_pieces(late, 0, pieces);
  CHECK(MPI_File_sync(late));
  CHECK(MPI_File_close(&late));
  passed("callback set after the first open");
  return MPI_SUCCESS;
}

static int close_before(MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)comm, (void)keyval, (void)value, (void)extra;
  write_pieces(before, pieces, 2 * pieces);
  expect_pieces(before, 2 * pieces);
  CHECK(MPI_File_close(&before));
  passed("callback set before the first open");
  return MPI_SUCCESS;
}

static void call_at_finalize(MPI_Comm_delete_attr_function* callback) {
  int keyval = MPI_KEYVAL_INVALID;
  CHECK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, callback, &keyval, NULL));
  CHECK(MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL));
}

static void finalize_at_exit(void) {
  MPI_File in_handler = open_by_name("in_handler");
  write_pieces(in_handler, 0, pieces);
  expect_pieces(in_handler, pieces);
  CHECK(MPI_File_close(&in_handler));
  write_pieces(forgotten, pieces, 2 * pieces);
  expect_pieces(forgotten, 2 * pieces);
  passed("exit handler");
  if (finish() != MPI_SUCCESS) _exit(1);
}

int main(int argc, char** argv) {
  const int at_exit = argc > 2 && strcmp(argv[2], "exit") == 0;
  if (at_exit && atexit(finalize_at_exit) != 0) return 1;
  start(&argc, &argv);
  snprintf(directory, sizeof directory, "%s", argv[1]);
  call_at_finalize(close_before);
  before = open_by_name("before");
  forgotten = open_by_name("forgotten");
  call_at_finalize(write_late);
  write_pieces(before, 0, pieces);
  write_pieces(forgotten, 0, pieces);
  return at_exit ? 0 : finish();
}
