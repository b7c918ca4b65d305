/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Views that Millrace cannot map on some ranks of a file only: every other rank has a type with an empty
 * block, of which libraries do not say where they put it. Pieces of all ranks interleave, so who fills a hole
 * of its view with what it has read undoes what another rank has written. usage: unmapped DIRECTORY */
#include "check.h"

enum { piece = 16, pieces = 1024, regions = 36, block = piece * pieces };

static char data[block], seen[block];

static void fill(int region) {
  for (int i = 0; i < block; i++) data[i] = (char)(1 + (rank * 31 + region * 7 + i / piece) % 127);
}

/* Two halves, and on odd ranks an empty block behind them: ROMIO of MPICH 4.0 takes no other place for it. */
static MPI_Datatype filetype(void) {
  MPI_Datatype half, type;
  const MPI_Aint stride = (MPI_Aint)piece * nranks;
  const int lengths[] = {1, 1, 0};
  const MPI_Aint first = (MPI_Aint)rank * piece, half_way = stride * pieces / 2;
  const MPI_Aint places[] = {first, first + half_way, first + 2 * half_way};
  CHECK(MPI_Type_create_hvector(pieces / 2, piece, stride, MPI_BYTE, &half));
  if (rank % 2 == 1) {
    CHECK(MPI_Type_create_hindexed(3, lengths, places, half, &type));
  } else {
    CHECK(MPI_Type_create_hvector(pieces, piece, stride, MPI_BYTE, &type));
  }
  CHECK(MPI_Type_commit(&type));
  CHECK(MPI_Type_free(&half));
  return type;
}

static void set_view(MPI_File fh, MPI_Datatype type, int region) {
  const MPI_Offset begin = (MPI_Offset)region * block * nranks + (rank % 2 == 1 ? 0 : rank * piece);
  CHECK(MPI_File_set_view(fh, begin, MPI_BYTE, type, "native", MPI_INFO_NULL));
}

/* The same bytes by another function in each region; parts of a region by several calls. */
static void write_region(MPI_File fh, int region) {
  MPI_Status status;
  MPI_Request request;
  int bytes = -1;
  const int half = block / 2;
  switch (region % 6) {
    case 0: /* one side piece by piece, while the other writes all of it again and again */
      for (int turn = 0; turn < 20 && rank % 2 == 1; turn++)
        CHECK(MPI_File_write_at(fh, 0, data, block, MPI_BYTE, MPI_STATUS_IGNORE));
      for (int at = 0; at < block; at += 8 * piece)
        CHECK(MPI_File_write_at(fh, at, data + at, 8 * piece, MPI_BYTE, MPI_STATUS_IGNORE));
      return;
    case 1:
      CHECK(MPI_File_write_at_all(fh, 0, data, block, MPI_BYTE, &status));
      break;
    case 2:
      for (int at = 0; at < block; at += half) {
        MPI_Offset position = -1;
        CHECK(MPI_File_write_all(fh, data + at, half, MPI_BYTE, &status));
        CHECK(MPI_File_get_position(fh, &position));
        EXPECT(position == at + half);
      }
      CHECK(MPI_Get_count(&status, MPI_BYTE, &bytes));
      EXPECT(bytes == half);
      return;
    case 3:
      CHECK(MPI_File_iwrite_at(fh, half, data + half, half, MPI_BYTE, &request));
      CHECK(MPI_Wait(&request, &status));
      CHECK(MPI_Get_count(&status, MPI_BYTE, &bytes));
      EXPECT(bytes == half);
      CHECK(MPI_File_iwrite(fh, data, half, MPI_BYTE, &request));
      CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      return;
    case 4:
      CHECK(MPI_File_write_all_begin(fh, data, block, MPI_BYTE));
      CHECK(MPI_File_write_all_end(fh, data, &status));
      break;
    default:
      CHECK(MPI_File_write(fh, data, block, MPI_BYTE, &status));
      break;
  }
  CHECK(MPI_Get_count(&status, MPI_BYTE, &bytes));
  EXPECT(bytes == block);
}

static void see_own(MPI_File fh) {
  memset(seen, 0, sizeof seen);
  CHECK(MPI_File_read_at(fh, 0, seen, block, MPI_BYTE, MPI_STATUS_IGNORE));
  EXPECT(memcmp(seen, data, block) == 0);
}

/* Each rank but rank 0 writes a large piece into a hole of rank 0's view, which is not mapped. Such a piece
 * takes no lock, so nobody may rewrite the hole. */
static void large_pieces(const char* directory) {
  enum {
    part = 4096,
    step = 256 * 1024,
    tile = 1024 * 1024,
    hole = 192 * 1024,
    begin = 32 * 1024,
    tiles = 100
  };
  static char bytes[hole], found[hole];
  char path[4096];
  MPI_Datatype row, sparse;
  const int lengths[] = {1, 1, 0}, places[] = {0, 2, 4};
  CHECK(MPI_Type_vector(2, part, step, MPI_BYTE, &row));
  CHECK(MPI_Type_indexed(3, lengths, places, row, &sparse));
  CHECK(MPI_Type_commit(&sparse));
  snprintf(path, sizeof path, "%s/large", directory);
  MPI_File fh;
  CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  CHECK(MPI_File_set_size(fh, (MPI_Offset)tiles * tile));
  const MPI_Offset mine = begin + (rank == 2   ? step
                                   : rank == 3 ? 2 * step
                                               : 0); /* further ranks write nothing */
  const int size = rank == 0 ? 4 * part : rank < 4 ? hole : 0;
  for (int turn = 0; turn < tiles; turn++) {
    const MPI_Offset at = (MPI_Offset)turn * tile;
    memset(bytes, 1 + (rank * 31 + turn) % 127, sizeof bytes);
    CHECK(MPI_File_set_view(fh, rank == 0 ? at : at + mine, MPI_BYTE, rank == 0 ? sparse : MPI_BYTE, "native",
                            MPI_INFO_NULL));
    CHECK(MPI_File_write_all(fh, bytes, size, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  CHECK(MPI_File_close(&fh));
  CHECK(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh));
  for (int turn = 0; turn < tiles && rank > 0 && rank < 4; turn++) {
    memset(bytes, 1 + (rank * 31 + turn) % 127, sizeof bytes);
    CHECK(MPI_File_read_at(fh, (MPI_Offset)turn * tile + mine, found, hole, MPI_BYTE, MPI_STATUS_IGNORE));
    EXPECT(memcmp(found, bytes, hole) == 0);
  }
  CHECK(MPI_File_close(&fh));
  CHECK(MPI_Type_free(&row));
  CHECK(MPI_Type_free(&sparse));
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  large_pieces(argv[1]);
  passed("large pieces");
  char path[4096];
  snprintf(path, sizeof path, "%s/unmapped", argv[1]);
  MPI_File fh;
  MPI_Datatype type = filetype();
  CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  for (int region = 0; region < regions; region++) {
    fill(region);
    set_view(fh, type, region);
    write_region(fh, region);
    if (region % 6 == 5)
      see_own(fh); /* OMPIO's collective writes end before their aggregators have written */
    if (region ==
        regions / 2) { /* by another name from here on, where a file of the old name is another one */
      char other[4096];
      snprintf(other, sizeof other, "%s/renamed", argv[1]);
      MPI_Barrier(MPI_COMM_WORLD);
      if (rank == 0) EXPECT(rename(path, other) == 0);
      if (rank == 0) fclose(fopen(path, "w"));
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  passed("written");
  CHECK(MPI_File_sync(fh));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_File_sync(fh));
  for (int region = 0; region < regions; region++) {
    fill(region);
    set_view(fh, type, region);
    see_own(fh);
    memset(seen, 0, sizeof seen);
    CHECK(MPI_File_read_at_all(fh, 0, seen, block, MPI_BYTE, MPI_STATUS_IGNORE));
    EXPECT(memcmp(seen, data, block) == 0);
  }
  passed("read");
  CHECK(MPI_File_close(&fh));
  CHECK(MPI_Type_free(&type));
  return finish();
}
