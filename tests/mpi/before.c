/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Memory without holes that begins before the buffer. ROMIO of MPICH 4.0 to 5.0 writes "efghijkl" (ADR 6):
 * there is nothing to compare with, but the standard says which bytes these are. usage: before DIRECTORY */
#include "check.h"

int main(int argc, char** argv) {
  start(&argc, &argv);
  const int lengths[] = {4, 4};
  const MPI_Aint places[] = {-4, 0};
  const char memory[] = "abcdefghijkl";
  char path[4096], seen[9] = "";
  MPI_Datatype type;
  CHECK(MPI_Type_create_hindexed(2, lengths, places, MPI_BYTE, &type));
  CHECK(MPI_Type_commit(&type));
  snprintf(path, sizeof path, "%s/before-%d", argv[1], rank);
  MPI_File fh;
  CHECK(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  CHECK(MPI_File_write_at(fh, 0, memory + 4, 1, type, MPI_STATUS_IGNORE));
  CHECK(MPI_File_read_at(fh, 0, seen, 8, MPI_BYTE, MPI_STATUS_IGNORE));
  EXPECT(strcmp(seen, "abcdefgh") == 0);
  passed("independent");
  CHECK(MPI_File_write_at_all(fh, 100, memory + 4, 1, type, MPI_STATUS_IGNORE));
  CHECK(MPI_File_read_at(fh, 100, seen, 8, MPI_BYTE, MPI_STATUS_IGNORE));
  EXPECT(strcmp(seen, "abcdefgh") == 0);
  passed("collective");
  CHECK(MPI_Type_free(&type));
  CHECK(MPI_File_close(&fh));
  return finish();
}
