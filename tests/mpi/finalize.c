/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * MPI_Finalize calls the delete callbacks of the attributes of MPI_COMM_SELF before anything else. MPI works
 * in them: HDF5 writes and closes there what the program left open. The last attribute goes first: MPICH's
 * ROMIO has one too, and cannot open files after it has gone. So the callback of an attribute that was set
 * after the first open opens, writes and closes a file; that of one that was set before, as HDF5's, writes to
 * a file that was opened in the program, reads it, and closes it. A third file is never closed. usage:
 * finalize DIRECTORY */
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

int main(int argc, char** argv) {
  start(&argc, &argv);
  snprintf(directory, sizeof directory, "%s", argv[1]);
  call_at_finalize(close_before);
  before = open_by_name("before");
  forgotten = open_by_name("forgotten");
  call_at_finalize(write_late);
  write_pieces(before, 0, pieces);
  write_pieces(forgotten, 0, pieces);
  return finish();
}
