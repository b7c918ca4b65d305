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

/* The first rank writes its column by calls with holes. Meanwhile the others write theirs piece by piece: a
 * rank that rewrites holes must not undo that. */
static void write_beside(const char* directory, int hint_changes) {
  MPI_File fh;
  MPI_Info info;
  MPI_Datatype pieces, column;
  char path[4096];
  snprintf(path, sizeof path, "%s/beside", directory);
  CHECK(MPI_Type_vector(rows, row, row * nranks, MPI_BYTE, &pieces));
  CHECK(MPI_Type_create_resized(pieces, 0, (MPI_Aint)rows * row * nranks, &column));
  CHECK(MPI_Type_commit(&column));
  CHECK(MPI_Info_create(&info));
  if (hint_changes) CHECK(MPI_Info_set(info, "romio_ds_write", "disable"));
  CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
  if (hint_changes) CHECK(MPI_Info_set(info, "romio_ds_write", "enable"));
  CHECK(MPI_File_set_view(fh, 0, MPI_BYTE, rank == 0 ? column : MPI_BYTE, "native", info));
  CHECK(MPI_Info_free(&info));
  for (int turn = 0; turn < 5; turn++) {
    memset(data, 16 * turn + rank, sizeof data);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) CHECK(MPI_File_write_at(fh, 0, data, row * rows, MPI_BYTE, MPI_STATUS_IGNORE));
    for (int i = 0; rank != 0 && i < rows; i++)
      CHECK(MPI_File_write_at(fh, ((MPI_Offset)i * nranks + rank) * row, data, row, MPI_BYTE,
                              MPI_STATUS_IGNORE));
    CHECK(MPI_File_sync(fh));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_sync(fh));
    FILE* file = rank == 0 ? fopen(path, "rb") : NULL;
    EXPECT(rank != 0 || file != NULL);
    for (int i = 0; file != NULL && i < rows * nranks; i++) {
      EXPECT(fread(seen, row, 1, file) == 1);
      int good = 0;
      while (good < row && seen[good] == 16 * turn + i % nranks) good++;
      EXPECT(good == row);
    }
    if (file != NULL) fclose(file);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  CHECK(MPI_File_close(&fh));
  CHECK(MPI_Type_free(&column));
  CHECK(MPI_Type_free(&pieces));
  passed("beside");
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
  write_beside(argv[1], 0);
  write_beside(argv[1], 1);
  return finish();
}
