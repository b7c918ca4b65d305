/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A read of pieces that reaches behind the end of the file: the process cannot read them by itself, and the
 * library follows. Together they ask for pending bytes once. usage: short DIRECTORY */
#include "check.h"

int main(int argc, char** argv) {
  start(&argc, &argv);
  char path[4096], bytes[] = "abcdefgh", seen[9] = "";
  MPI_Datatype every_other;
  MPI_File fh;
  CHECK(MPI_Type_vector(4, 1, 2, MPI_BYTE, &every_other));
  CHECK(MPI_Type_commit(&every_other));
  snprintf(path, sizeof path, "%s/short", argv[1]);
  CHECK(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  CHECK(MPI_File_write(fh, bytes, 5, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(MPI_File_set_view(fh, 0, MPI_BYTE, every_other, "native", MPI_INFO_NULL));
  CHECK(MPI_File_read(fh, seen, 4, MPI_BYTE, MPI_STATUS_IGNORE));
  EXPECT(memcmp(seen, "ace", 3) == 0);
  CHECK(MPI_File_close(&fh));
  CHECK(MPI_Type_free(&every_other));
  passed("short");
  return finish();
}
