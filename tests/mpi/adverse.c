/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a random program seldom does: types whose elements overlap or run backwards, calls of nothing, ranks
 * of which only some have a view that the library places as the standard says, order without MPI_File_sync as
 * HDF5 relies on it, sizes that shrink under pending bytes, two handles in one process. usage: adverse
 * DIRECTORY */
#include "check.h"

static char path[4096];
static const char* directory;

static const char* in_directory(const char* name) {
  snprintf(path, sizeof path, "%s/%s", directory, name);
  return path;
}

static const int create = MPI_MODE_CREATE | MPI_MODE_RDWR;

static MPI_File open_by(MPI_Comm comm, const char* name, int amode) {
  MPI_File fh = MPI_FILE_NULL;
  CHECK(MPI_File_open(comm, in_directory(name), amode, MPI_INFO_NULL, &fh));
  return fh;
}

/* As large from the start as it gets: behind the end of a file data sieving writes what was in its buffer
 * into the holes. */
static MPI_File open_file(const char* name) {
  MPI_File fh = open_by(MPI_COMM_WORLD, name, create);
  CHECK(MPI_File_set_size(fh, 8 << 20));
  return fh;
}

static void everybody_sees(MPI_File fh) {
  CHECK(MPI_File_sync(fh));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_File_sync(fh));
}

static void view(MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype) {
  CHECK(MPI_File_set_view(fh, disp, etype, filetype, "native", MPI_INFO_NULL));
}

/* Every nranks-th of `n` elements of 8 bytes, for good. */
static MPI_Datatype column(int n) {
  MPI_Datatype piece, out;
  CHECK(MPI_Type_vector(n, 1, nranks, MPI_DOUBLE, &piece));
  CHECK(MPI_Type_create_resized(piece, 0, (MPI_Aint)8 * n * nranks, &out));
  CHECK(MPI_Type_commit(&out));
  MPI_Type_free(&piece);
  return out;
}

/* The second of every two doubles, by a lower bound other than 0: ROMIO misplaces such bounds in other nests,
 * so Millrace takes none as memory. */
static MPI_Datatype seconds(int n) {
  MPI_Datatype part, row, out;
  const int one = 1;
  const MPI_Aint at = 8;
  CHECK(MPI_Type_create_resized(MPI_DOUBLE, -8, 16, &part));
  CHECK(MPI_Type_contiguous(n, part, &row));
  CHECK(MPI_Type_create_struct(1, &one, &at, &row, &out));
  CHECK(MPI_Type_commit(&out));
  MPI_Type_free(&part);
  MPI_Type_free(&row);
  return out;
}

enum { length = 512, rounds = 200 };

/* Some ranks have memory that Millrace does not map, in a view with holes that others fill meanwhile. */
static void test_holes(void) {
  MPI_File fh = open_file("holes");
  MPI_Datatype stripes = column(length), memory = seconds(length);
  static double data[2 * length + 2], row[length];
  view(fh, 8 * rank, MPI_DOUBLE, stripes);
  for (int k = 0; k < rounds; ++k) {
    const MPI_Offset at = (MPI_Offset)k * length;
    if (k % 5 == 0) MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 2 * length + 2; ++i) data[i] = rank * 1e6 + k * 1000 + i;
    for (int i = 0; i < length; ++i) row[i] = data[2 * i + 1];
    const int odd = (rank + k / 50) % 2;
    if (odd && k % 3 == 0) CHECK(MPI_File_write_at(fh, at, data, 1, memory, MPI_STATUS_IGNORE));
    if (odd && k % 3 != 0) CHECK(MPI_File_write_at_all(fh, at, data, 1, memory, MPI_STATUS_IGNORE));
    if (!odd && k % 3 == 0) CHECK(MPI_File_write_at(fh, at, row, length, MPI_DOUBLE, MPI_STATUS_IGNORE));
    if (!odd && k % 3 != 0) CHECK(MPI_File_write_at_all(fh, at, row, length, MPI_DOUBLE, MPI_STATUS_IGNORE));
  }
  /* ... with pointers, requests and split calls. */
  MPI_Request request;
  MPI_Status status;
  int count = -1;
  CHECK(MPI_File_seek(fh, (MPI_Offset)rounds * length, MPI_SEEK_SET));
  CHECK(MPI_File_write_all(fh, data, 1, memory, &status));
  CHECK(MPI_Get_count(&status, memory, &count));
  EXPECT(count == 1);
  CHECK(MPI_File_iwrite(fh, data, 1, memory, &request));
  CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(MPI_File_write_all_begin(fh, data, 1, memory));
  CHECK(MPI_File_write_all_end(fh, data, MPI_STATUS_IGNORE));
  MPI_Offset position = -1;
  CHECK(MPI_File_get_position(fh, &position));
  EXPECT(position == (MPI_Offset)(rounds + 3) * length);
  CHECK(MPI_File_read_at(fh, position - length, row, length, MPI_DOUBLE, MPI_STATUS_IGNORE));
  for (int i = 0; i < length; ++i) EXPECT(row[i] == data[2 * i + 1]);
  CHECK(MPI_File_close(&fh));
  MPI_Type_free(&stripes);
  MPI_Type_free(&memory);
}

/* Rank 0 has a view of a nest that some libraries do not place alike, and more pieces than can be asked for.
 */
static void test_views_differ(void) {
  enum { blocks = 40000 };
  MPI_File fh = open_file("views_differ");
  MPI_Datatype stripes = column(blocks), odd, filetype = stripes, pair;
  static int ones[blocks], places[blocks];
  static double data[blocks];
  for (int i = 0; i < blocks; ++i) {
    ones[i] = i % 2;
    places[i] = i / 2 * nranks;
    data[i] = rank * 1e6 + i;
  }
  if (rank == 0) {
    CHECK(MPI_Type_create_resized(MPI_DOUBLE, 0, 8, &pair));
    CHECK(MPI_Type_indexed(blocks, ones, places, pair, &odd));
    CHECK(MPI_Type_create_resized(odd, 0, (MPI_Aint)8 * blocks / 2 * nranks, &filetype));
    CHECK(MPI_Type_commit(&filetype));
    MPI_Type_free(&pair);
    MPI_Type_free(&odd);
  }
  view(fh, 8 * rank, MPI_DOUBLE, filetype);
  MPI_Request request;
  CHECK(MPI_File_write_all(fh, data, 1000, MPI_DOUBLE, MPI_STATUS_IGNORE));
  CHECK(MPI_File_write_at_all_begin(fh, 1000, data, 1000, MPI_DOUBLE));
  CHECK(MPI_File_write_at_all_end(fh, data, MPI_STATUS_IGNORE));
  CHECK(MPI_File_iwrite_at_all(fh, 2000, data, 1000, MPI_DOUBLE, &request));
  CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(MPI_File_write_at(fh, 3000, data, 500, MPI_DOUBLE, MPI_STATUS_IGNORE));
  everybody_sees(fh);
  CHECK(MPI_File_read_at_all(fh, 500, data, 3000, MPI_DOUBLE, MPI_STATUS_IGNORE));
  for (int i = 0; i < 3000; ++i) EXPECT(data[i] == rank * 1e6 + (500 + i) % 1000);
  view(fh, 0, MPI_DOUBLE, stripes); /* and back into the pipeline */
  if (rank == 0) CHECK(MPI_File_write_at(fh, 5000, data, 10, MPI_DOUBLE, MPI_STATUS_IGNORE));
  CHECK(MPI_File_close(&fh));
  if (rank == 0) MPI_Type_free(&filetype);
  MPI_Type_free(&stripes);
}

/* A filetype whose extent is shorter than its data, as PnetCDF makes them; only the first element is used:
 * stock libraries go wrong behind it. */
static void test_interleaved(void) {
  MPI_File fh = open_file("interleaved");
  MPI_Datatype comb, filetype;
  char data[24], back[24];
  CHECK(MPI_Type_vector(3, 8, 16, MPI_BYTE, &comb));
  CHECK(MPI_Type_create_resized(comb, 0, 8, &filetype));
  CHECK(MPI_Type_commit(&filetype));
  for (int i = 0; i < (int)sizeof data; ++i) data[i] = (char)(rank * 31 + i + i / 16);
  view(fh, 48 * rank, MPI_BYTE, filetype);
  CHECK(MPI_File_write_at_all(fh, 0, data, 24, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(MPI_File_read_at_all(fh, 0, back, 24, MPI_BYTE, MPI_STATUS_IGNORE));
  EXPECT(memcmp(back, data, 24) == 0);
  view(fh, 48 * (nranks + rank), MPI_BYTE, filetype);
  CHECK(MPI_File_write(fh, data, 24, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(MPI_File_close(&fh));
  MPI_Type_free(&filetype);
  MPI_Type_free(&comb);
}

/* Memory whose pieces overlap, and memory that runs backwards. */
static void test_memory(void) {
  MPI_File fh = open_file("memory");
  MPI_Datatype types[3], overlapping;
  int data[200];
  for (int i = 0; i < 200; ++i) data[i] = rank * 1000 + i;
  const int lengths[] = {4, 4, 4}, places[] = {0, 2, 1};
  CHECK(MPI_Type_indexed(3, lengths, places, MPI_INT, &types[0]));
  CHECK(MPI_Type_contiguous(6, MPI_INT, &overlapping));
  CHECK(MPI_Type_create_resized(overlapping, 0, 8, &types[1]));
  CHECK(MPI_Type_vector(5, 2, 3, MPI_INT, &types[2]));
  MPI_Datatype stripes = column(30);
  for (int t = 0; t < 3; ++t) {
    CHECK(MPI_Type_commit(&types[t]));
    view(fh, 100000 * t + 4096 * rank, MPI_INT, MPI_INT);
    CHECK(MPI_File_write(fh, data + 20, 5, types[t], MPI_STATUS_IGNORE));
    view(fh, 100000 * t + 50000 + 8 * rank, MPI_BYTE, stripes);
    CHECK(MPI_File_write_all(fh, data + 20, 5, types[t], MPI_STATUS_IGNORE));
    MPI_Type_free(&types[t]);
  }
  CHECK(MPI_File_close(&fh));
  MPI_Type_free(&overlapping);
  MPI_Type_free(&stripes);
}

/* Calls of nothing: on all ranks, on some, without memory. */
static void test_nothing(void) {
  MPI_File fh = open_by(MPI_COMM_WORLD, "nothing", create);
  MPI_Datatype empty;
  MPI_Status status;
  MPI_Request request;
  int data[4] = {rank, 2, 3, 4}, count = -1;
  CHECK(MPI_Type_contiguous(0, MPI_INT, &empty));
  CHECK(MPI_Type_commit(&empty));
  view(fh, 0, MPI_INT, MPI_INT);
  CHECK(MPI_File_write(fh, NULL, 0, MPI_INT, &status));
  CHECK(MPI_Get_count(&status, MPI_INT, &count));
  EXPECT(count == 0);
  CHECK(MPI_File_write_at_all(fh, 4 * rank, data, rank % 2 ? 4 : 0, MPI_INT, MPI_STATUS_IGNORE));
  CHECK(MPI_File_write_at(fh, 1000, data, 3, empty, MPI_STATUS_IGNORE));
  CHECK(MPI_File_iwrite_at(fh, 1000, data, 0, MPI_INT, &request));
  CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(MPI_File_write_at_all_begin(fh, 100 + 4 * rank, data, rank % 2 ? 0 : 4, MPI_INT));
  CHECK(MPI_File_write_at_all_end(fh, data, MPI_STATUS_IGNORE));
  MPI_Offset position = -1, size = -1;
  CHECK(MPI_File_get_position(fh, &position));
  EXPECT(position == 0);
  everybody_sees(fh);
  CHECK(MPI_File_get_size(fh, &size));
  EXPECT(size == 4 * (100 + 4 * ((nranks - 1) / 2 * 2) + 4));
  CHECK(MPI_File_close(&fh));
  MPI_Type_free(&empty);
}

/* Ordered by messages alone, as HDF5 writes data over its fill values. Small writes and large ones, which
 * take different ways. */
static void test_order(void) {
  enum { ints = 64 * 1024 };
  MPI_File fh = open_file("order");
  int* data = malloc(ints * sizeof *data);
  view(fh, 0, MPI_INT, MPI_INT);
  for (int k = 0; k < 40; ++k) {
    const int small_first = k % 2, collective = k / 2 % 2, writer = k % nranks;
    const MPI_Offset base = (MPI_Offset)(k % 4) * ints;
    for (int i = 0; i < ints; ++i) data[i] = k * 100 + rank;
    if (rank == writer)
      for (int at = 0; at < ints; at += small_first ? 512 : ints)
        CHECK(MPI_File_write_at(fh, base + at, data, small_first ? 512 : ints, MPI_INT, MPI_STATUS_IGNORE));
    MPI_Barrier(MPI_COMM_WORLD);
    const int n = small_first ? ints / nranks : 100;
    const MPI_Offset at = base + rank * (MPI_Offset)(ints / nranks);
    for (int i = 0; i < ints; ++i) data[i] = k * 100 + 50 + rank;
    if (collective) CHECK(MPI_File_write_at_all(fh, at, data, n, MPI_INT, MPI_STATUS_IGNORE));
    if (!collective) CHECK(MPI_File_write_at(fh, at, data, n, MPI_INT, MPI_STATUS_IGNORE));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  CHECK(MPI_File_close(&fh));
  free(data);
}

/* Alone: views that change, sizes that shrink and grow, all over bytes that nothing has flushed. */
static void test_alone(void) {
  char name[32];
  snprintf(name, sizeof name, "alone.%d", rank);
  MPI_File fh = open_by(MPI_COMM_SELF, name, create), other;
  MPI_Datatype comb;
  MPI_Offset at = -1;
  int data[5000], back[64];
  for (int i = 0; i < 5000; ++i) data[i] = i + rank;
  CHECK(MPI_Type_vector(100, 1, 2, MPI_INT, &comb));
  CHECK(MPI_Type_commit(&comb));
  for (int i = 0; i < 5000; i += 50) CHECK(MPI_File_write(fh, data + i, 50, MPI_INT, MPI_STATUS_IGNORE));
  view(fh, 400, MPI_INT, comb); /* every other one anew */
  CHECK(MPI_File_write(fh, data + 3000, 100, MPI_INT, MPI_STATUS_IGNORE));
  view(fh, 402, MPI_SHORT, MPI_SHORT); /* and halves of some */
  CHECK(MPI_File_write_at(fh, 10, data, 20, MPI_SHORT, MPI_STATUS_IGNORE));
  CHECK(MPI_File_set_size(fh, 1000));
  view(fh, 0, MPI_INT, MPI_INT);
  CHECK(MPI_File_write_at(fh, 400, data, 10, MPI_INT, MPI_STATUS_IGNORE));
  CHECK(MPI_File_read_at(fh, 240, back, 20, MPI_INT, MPI_STATUS_IGNORE));
  for (int i = 10; i < 20; ++i) EXPECT(back[i] == 0);
  CHECK(MPI_File_seek(fh, 0, MPI_SEEK_END));
  CHECK(MPI_File_get_position(fh, &at));
  EXPECT(at == 410);
  CHECK(MPI_File_write(fh, data, 7, MPI_INT, MPI_STATUS_IGNORE));
  CHECK(MPI_File_seek(fh, -2, MPI_SEEK_CUR));
  CHECK(MPI_File_read(fh, back, 10, MPI_INT, MPI_STATUS_IGNORE)); /* two are left */
  EXPECT(back[1] == data[6]);
  CHECK(MPI_File_preallocate(fh, 3000));
  /* A second handle in this process, and what the first has written when it goes. */
  other = open_by(MPI_COMM_SELF, name, MPI_MODE_RDWR);
  CHECK(MPI_File_write_at(fh, 700, data + 100, 10, MPI_INT, MPI_STATUS_IGNORE));
  CHECK(MPI_File_sync(fh));
  CHECK(MPI_File_sync(other));
  CHECK(MPI_File_read_at(other, 2800, back, 10, MPI_INT, MPI_STATUS_IGNORE));
  EXPECT(memcmp(back, data + 100, 40) == 0);
  CHECK(MPI_File_write_at(other, 2800, data, 10, MPI_INT, MPI_STATUS_IGNORE));
  CHECK(MPI_File_close(&other));
  CHECK(MPI_File_write_at(fh, 720, data + 7, 10, MPI_INT, MPI_STATUS_IGNORE));
  other = open_by(MPI_COMM_SELF, name, MPI_MODE_RDONLY); /* finds what is there without a sync, too */
  CHECK(MPI_File_read_at(other, 2880, back, 10, MPI_INT, MPI_STATUS_IGNORE));
  EXPECT(memcmp(back, data + 7, 40) == 0);
  CHECK(MPI_File_close(&other));
  CHECK(MPI_File_write_at(fh, 750, data, 1, MPI_INT, MPI_STATUS_IGNORE));
  other = open_by(MPI_COMM_SELF, name, MPI_MODE_WRONLY | MPI_MODE_APPEND);
  CHECK(MPI_File_get_position(other, &at));
  EXPECT(at == 3004);
  CHECK(MPI_File_close(&other));
  CHECK(MPI_File_read_at(fh, 700, back, 10, MPI_INT, MPI_STATUS_IGNORE));
  EXPECT(memcmp(back, data, 40) == 0);
  CHECK(MPI_File_close(&fh));
  fh = open_by(MPI_COMM_SELF, name, MPI_MODE_RDWR | MPI_MODE_APPEND);
  CHECK(MPI_File_write(fh, data, 9, MPI_INT, MPI_STATUS_IGNORE));
  CHECK(MPI_File_get_position(fh, &at));
  EXPECT(at == 3040);
  CHECK(MPI_File_seek(fh, -36, MPI_SEEK_END));
  CHECK(MPI_File_read(fh, back, 9, MPI_INT, MPI_STATUS_IGNORE));
  EXPECT(memcmp(back, data, 36) == 0);
  CHECK(MPI_File_close(&fh));
  MPI_Type_free(&comb);
}

/* Pointers of a view of structs, whichever way each call takes; then the shared one over what they wrote. */
static void test_pointers(void) {
  enum { big = 4096 };
  MPI_File fh = open_file("pointers");
  MPI_Datatype etype, stripes;
  MPI_Offset at = -1;
  double* data = malloc(8 * 3 * big);
  CHECK(MPI_Type_contiguous(3, MPI_DOUBLE, &etype));
  CHECK(MPI_Type_commit(&etype));
  CHECK(MPI_Type_create_resized(etype, 0, 24 * nranks, &stripes));
  CHECK(MPI_Type_commit(&stripes));
  for (int i = 0; i < 3 * big; ++i) data[i] = rank * 1e6 + i;
  view(fh, 24 * rank, etype, stripes);
  CHECK(MPI_File_write(fh, data, 5, etype, MPI_STATUS_IGNORE));
  CHECK(MPI_File_write(fh, data, 3 * big, MPI_DOUBLE, MPI_STATUS_IGNORE));
  CHECK(MPI_File_write(fh, data, 2, etype, MPI_STATUS_IGNORE)); /* OMPIO 4.1 puts a write_all elsewhere */
  CHECK(MPI_File_get_position(fh, &at));
  EXPECT(at == big + 7);
  CHECK(MPI_File_seek(fh, at - 3, MPI_SEEK_SET)); /* SEEK_CUR is wrong here in OMPIO 4.1 */
  double back[9];
  CHECK(MPI_File_read(fh, back, 3, etype, MPI_STATUS_IGNORE));
  EXPECT(back[0] == data[3 * big - 3] && back[8] == data[5]);
  CHECK(MPI_File_write(fh, data, 1, etype, MPI_STATUS_IGNORE));
  CHECK(MPI_File_get_position(fh, &at));
  EXPECT(at == big + 8);
  everybody_sees(fh);
  view(fh, 0, etype, etype);
  CHECK(MPI_File_seek_shared(fh, 2, MPI_SEEK_SET));
  CHECK(MPI_File_write_ordered(fh, data + 30, rank + 1, etype, MPI_STATUS_IGNORE));
  CHECK(MPI_File_get_position(fh, &at));
  EXPECT(at == 0);
  CHECK(MPI_File_write_at(fh, 1000 + rank, data + 60, 1, etype, MPI_STATUS_IGNORE));
  CHECK(MPI_File_close(&fh));
  fh = open_by(MPI_COMM_WORLD, "sequence", MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL);
  for (int i = 0; i < 5; ++i)
    CHECK(MPI_File_write_ordered(fh, data + i, i + rank, MPI_DOUBLE, MPI_STATUS_IGNORE));
  CHECK(MPI_File_close(&fh));
  free(data);
  MPI_Type_free(&etype);
  MPI_Type_free(&stripes);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  directory = argv[1];
  test_holes();
  passed("holes");
  test_views_differ();
  passed("views_differ");
  test_interleaved();
  passed("interleaved");
  test_memory();
  passed("memory");
  test_nothing();
  passed("nothing");
  test_order();
  passed("order");
  test_alone();
  passed("alone");
  test_pointers();
  passed("pointers");
  return finish();
}
