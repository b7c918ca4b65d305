/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Views with a hole that no rank writes, in a new file. ROMIO reads, changes and rewrites such parts: where
 * it finds nothing to read, it writes what its memory holds. usage: holes DIRECTORY */
#include "check.h"

enum { row = 1024, rows = 700 };

static char data[row * rows], seen[row * rows];

/* What the MPI library allocates next is not zero. */
static void litter(void) {
  for (int size = 1 << 14; size <= 1 << 20; size *= 2) {
    char* memory = malloc((size_t)size);
    memset(memory, 0x77, (size_t)size);
    free(memory);
  }
}

int main(int argc, char** argv) {
  MPI_File fh;
  MPI_Datatype pieces, column;
  char path[4096];
  start(&argc, &argv);
  snprintf(path, sizeof path, "%s/holes", argv[1]);
  memset(data, 1 + rank, sizeof data);
  CHECK(MPI_Type_vector(rows, row, row * (nranks + 1), MPI_BYTE, &pieces)); /* the last column is nobody's */
  CHECK(MPI_Type_create_resized(pieces, 0, (MPI_Aint)rows * row * (nranks + 1), &column));
  CHECK(MPI_Type_commit(&column));
  CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  CHECK(MPI_File_set_view(fh, (MPI_Offset)rank * row, MPI_BYTE, column, "native", MPI_INFO_NULL));
  for (int turn = 0; turn < 3; turn++) {
    litter();
    if (turn % 2 == 0) {
      CHECK(MPI_File_write(fh, data, row * rows, MPI_BYTE, MPI_STATUS_IGNORE));
    } else {
      CHECK(MPI_File_write_all(fh, data, row * rows, MPI_BYTE, MPI_STATUS_IGNORE));
    }
  }
  CHECK(MPI_File_close(&fh));
  MPI_Barrier(MPI_COMM_WORLD);
  FILE* file = fopen(path, "rb");
  EXPECT(file != NULL);
  for (int i = 0; file != NULL && i < 3 * rows - 1; i++) /* behind the last row there is no hole */
    for (int of = 0; of <= nranks; of++) {
      EXPECT(fread(seen, row, 1, file) == 1);
      const char want = (char)(of < nranks ? 1 + of : 0);
      int good = 0;
      while (good < row && seen[good] == want) good++;
      EXPECT(good == row);
    }
  if (file != NULL) fclose(file);
  CHECK(MPI_Type_free(&column));
  CHECK(MPI_Type_free(&pieces));
  passed("holes");
  return finish();
}
