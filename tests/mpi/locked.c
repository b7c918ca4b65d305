/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Rank 0 guards a part of the file against other jobs by a lock of its own descriptor, for as long as the
 * file is open. Meanwhile it writes that part through MPI, and all ranks write the rest. usage: locked
 * DIRECTORY */
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include "check.h"

enum { record = 128, guarded = 32, records = 1000 };

static void fill(char* data, int of) { memset(data, 'a' + of % 26, record); }

/* Records from `first` on, with others between them: one call each, or one for all. */
static void write_records(MPI_File fh, int first, int step, int count) {
  char data[record];
  for (int i = 0; i < count; ++i) {
    fill(data, first + i * step);
    const MPI_Offset at = (MPI_Offset)(first + i * step) * record;
    CHECK(MPI_File_write_at(fh, at, data, record, MPI_BYTE, MPI_STATUS_IGNORE));
  }
}

static void write_by_view(MPI_File fh, int first, int step, int count) {
  static char data[records * record];
  MPI_Datatype all;
  for (int i = 0; i < count; ++i) fill(data + i * record, first + i * step);
  MPI_Type_vector(count, record, step * record, MPI_BYTE, &all);
  MPI_Type_commit(&all);
  CHECK(MPI_File_set_view(fh, (MPI_Offset)first * record, MPI_BYTE, all, "native", MPI_INFO_NULL));
  CHECK(MPI_File_write(fh, data, count * record, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  MPI_Type_free(&all);
}

int main(int argc, char** argv) {
  MPI_File fh;
  char path[4096], data[record], found[record];
  start(&argc, &argv);
  snprintf(path, sizeof path, "%s/locked", argv[1]);
  CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  const int fd = open(path, O_RDWR);
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = guarded * record};
  static char nothing[(guarded + 3 * records) * record]; /* MPICH leaves anything in holes behind the end */
  if (rank == 0) EXPECT(write(fd, nothing, sizeof nothing) == sizeof nothing);
  if (rank == 0) EXPECT(fcntl(fd, F_OFD_SETLK, &lock) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) write_records(fh, 0, 1, guarded);
  write_records(fh, guarded + rank, nranks, records / nranks);
  write_by_view(fh, guarded + records + rank, nranks + 1, records / nranks);
  CHECK(MPI_File_sync(fh));
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < guarded + records / nranks * nranks && failures == 0; ++i) {
    fill(data, i);
    EXPECT(pread(fd, found, record, (off_t)i * record) == record && memcmp(found, data, record) == 0);
  }
  passed("a part is written that the program has locked");
  CHECK(MPI_File_close(&fh));
  close(fd);
  passed("the file is closed");
  return finish();
}
