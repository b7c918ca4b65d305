/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each process has two handles of a file, and reads by one what it has written by the other.
 *   after   it opens the handle for reading first; `name` is another name of the file, for writing, which
 * means another file before the first write before  it opens the handle for writing first, and has written
 *   self    it writes by a handle of its own (MPI_COMM_SELF), and by one of all ranks; rank `who`, or all
 * (-1) usage: own FOLDER FILE after NAME | before | self WHO */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 64, PIECES = 20 };
static int rank, ranks, failures;
static const char* path;

#define EXPECT(condition)                                                               \
  do {                                                                                  \
    if (!(condition) && ++failures < 4)                                                 \
      printf("FAIL rank %d line %d: %s\n", rank, __LINE__, #condition), fflush(stdout); \
  } while (0)
#define CHECK(call) EXPECT((call) == MPI_SUCCESS)

static MPI_Offset place(int i, int of) { return (MPI_Offset)(i * ranks + of) * PIECE; }

static MPI_File opened(MPI_Comm comm, const char* name, int amode) {
  MPI_File fh = MPI_FILE_NULL;
  const int error = MPI_File_open(comm, name, amode, MPI_INFO_NULL, &fh);
  if (error == MPI_SUCCESS) return fh;
  printf("FAIL rank %d: open\n", rank);
  fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 1);
  return fh;
}

static void write_all(MPI_File fh, char letter) {
  char data[PIECE];
  memset(data, letter + rank, PIECE);
  for (int i = 0; i < PIECES; ++i)
    CHECK(MPI_File_write_at(fh, place(i, rank), data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void expect(const char* data, int bytes, char letter) {
  for (int i = 0; i < bytes; ++i) {
    if (data[i] == letter) continue;
    EXPECT(data[i] == letter);
    return;
  }
}

static void expect_pieces(MPI_File fh, int of, char letter) {
  char data[PIECE];
  MPI_Status status;
  int count = 0;
  for (int i = 0; i < PIECES; ++i) {
    memset(data, 0, PIECE);
    CHECK(MPI_File_read_at(fh, place(i, of), data, PIECE, MPI_BYTE, &status));
    MPI_Get_count(&status, MPI_BYTE, &count);
    EXPECT(count == PIECE);
    expect(data, PIECE, (char)(letter + of));
  }
}

/* Every kind of read by offset and by individual pointer; collective ones too, though other ranks may not
 * have written yet. */
static void expect_every_way(MPI_File fh, char letter) {
  char data[PIECE];
  MPI_Request request;
  const char own = (char)(letter + rank);
#define READ(call, ...)                      \
  do {                                       \
    memset(data, 0, PIECE);                  \
    CHECK(MPI_File_##call(fh, __VA_ARGS__)); \
    expect(data, PIECE, own);                \
  } while (0)
#define IREAD(call, ...)                               \
  do {                                                 \
    memset(data, 0, PIECE);                            \
    CHECK(MPI_File_##call(fh, __VA_ARGS__, &request)); \
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE));      \
    expect(data, PIECE, own);                          \
  } while (0)
  READ(read_at, place(1, rank), data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE);
  READ(read_at_all, place(2, rank), data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE);
  IREAD(iread_at, place(3, rank), data, PIECE, MPI_BYTE);
  IREAD(iread_at_all, place(4, rank), data, PIECE, MPI_BYTE);
  CHECK(MPI_File_seek(fh, place(5, rank), MPI_SEEK_SET));
  READ(read, data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE);
  CHECK(MPI_File_seek(fh, place(6, rank) - place(5, rank) - PIECE, MPI_SEEK_CUR));
  READ(read_all, data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE);
  CHECK(MPI_File_seek(fh, place(7, rank), MPI_SEEK_SET));
  IREAD(iread, data, PIECE, MPI_BYTE);
  memset(data, 0, PIECE);
  CHECK(MPI_File_read_at_all_begin(fh, place(8, rank), data, PIECE, MPI_BYTE));
  MPI_Status status;
  int count = 0;
  CHECK(MPI_File_read_at_all_end(fh, data, &status));
  MPI_Get_count(&status, MPI_BYTE, &count);
  EXPECT(count == PIECE);
  expect(data, PIECE, own);
}

static void tell_stage(MPI_File fh) {
  char value[MPI_MAX_INFO_VAL + 1] = "none";
  int found = 0;
  MPI_Info info;
  MPI_File_get_info(fh, &info);
  MPI_Info_get(info, "millrace_stage", MPI_MAX_INFO_VAL, value, &found);
  MPI_Info_free(&info);
  if (rank == 0) printf("staged %s\n", value);
}

static void give_name_to_another_file(const char* name) {
  char other[4096];
  snprintf(other, sizeof other, "%s-renamed", name);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) EXPECT(rename(name, other) == 0 && fclose(fopen(name, "wb")) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* The reader has a view and a position, and a split collective under way, when the first write comes. */
static void after(const char* name) {
  char data[PIECE], begun[PIECE];
  MPI_File reader = opened(MPI_COMM_WORLD, path, MPI_MODE_RDONLY);
  tell_stage(reader);
  MPI_Datatype mine;
  MPI_Type_vector(PIECES, PIECE, PIECE * ranks, MPI_BYTE, &mine);
  MPI_Type_commit(&mine);
  CHECK(MPI_File_set_view(reader, place(0, rank), MPI_BYTE, mine, "native", MPI_INFO_NULL));
  CHECK(MPI_File_read(reader, data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE));
  MPI_File writer = opened(MPI_COMM_WORLD, name, MPI_MODE_RDWR);
  CHECK(MPI_File_read_at_all_begin(reader, 0, begun, PIECE, MPI_BYTE));
  give_name_to_another_file(name);
  write_all(writer, 'a');
  CHECK(MPI_File_read_at_all_end(reader, begun, MPI_STATUS_IGNORE));
  CHECK(MPI_File_read(reader, data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE));
  expect(data, PIECE, (char)('a' + rank));
  MPI_Offset position = 0;
  CHECK(MPI_File_get_position(reader, &position));
  EXPECT(position == 2 * PIECE);
  CHECK(MPI_File_set_view(reader, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  expect_every_way(reader, 'a');
  write_all(writer, 'A');
  expect_every_way(reader, 'A');
  MPI_File alone = opened(MPI_COMM_SELF, path, MPI_MODE_RDWR);
  write_all(alone, '0');
  expect_every_way(reader, '0');
  CHECK(MPI_File_close(&alone));
  CHECK(MPI_File_sync(writer));
  MPI_File_sync(reader); /* libraries refuse it, as the file is open for reading only */
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(reader); /* libraries refuse it, as the file is open for reading only */
  expect_pieces(reader, (rank + 1) % ranks, '0');
  expect_every_way(reader, '0');
  tell_stage(reader);
  MPI_Type_free(&mine);
  CHECK(MPI_File_close(&reader));
  CHECK(MPI_File_close(&writer));
}

static void before(void) {
  MPI_File writer = opened(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR);
  write_all(writer, 'a');
  CHECK(MPI_File_sync(writer));
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File reader = opened(MPI_COMM_WORLD, path, MPI_MODE_RDONLY);
  tell_stage(reader);
  write_all(writer, 'A');
  expect_pieces(reader, rank, 'A');
  CHECK(MPI_File_sync(writer));
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(reader); /* libraries refuse it, as the file is open for reading only */
  expect_pieces(reader, (rank + 1) % ranks, 'A');
  CHECK(MPI_File_close(&reader));
  CHECK(MPI_File_close(&writer));
}

static void self(int who) {
  const int mine = who < 0 || who == rank;
  MPI_File alone = MPI_FILE_NULL;
  if (rank == 0) MPI_File_delete(path, MPI_INFO_NULL);
  if (rank == 0) fclose(fopen(path, "wb"));
  MPI_Barrier(MPI_COMM_WORLD);
  char data[PIECE];
  memset(data, 'a' + rank, PIECE);
  if (mine) {
    alone = opened(MPI_COMM_SELF, path, MPI_MODE_RDWR);
    CHECK(MPI_File_write_at(alone, place(0, rank), data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  MPI_File all = opened(MPI_COMM_WORLD, path, MPI_MODE_RDWR);
  CHECK(MPI_File_write_at_all(all, place(1, rank), data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(MPI_File_sync(all));
  MPI_Barrier(MPI_COMM_WORLD);
  const int next = (rank + 1) % ranks;
  CHECK(MPI_File_read_at_all(all, place(1, next), data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE));
  expect(data, PIECE, (char)('a' + next));
  CHECK(MPI_File_close(&all));
  if (mine) CHECK(MPI_File_close(&alone));
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  path = argv[2];
  const char* mode = argc > 3 ? argv[3] : "before";
  if (strcmp(mode, "after") == 0) {
    after(argv[4]);
  } else if (strcmp(mode, "self") == 0) {
    self(atoi(argv[4]));
  } else {
    before();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("end\n");
  MPI_Finalize();
  return failures != 0;
}
