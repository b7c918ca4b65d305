/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Writes a file in many ways, reads it meanwhile, appends to it, and reads it: PATH is a file of the first
 * rank's node with MILLRACE_TARGET=first, of all nodes without. What is read goes to FOLDER/reads-RANK. With
 * "limits" it also says what a file of one node cannot do; with "space" it writes until the disk is full;
 * with "wait" it reads again and again until that fails; with "read" it only
 * reads what is there.
 *
 * usage: first FOLDER PATH [limits | space | wait | read] */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SMALL = 700, LARGE = 1 << 21 };

static int rank, ranks;
static const char* path;
static const char* mode = "";

static int class_of(int error) {
  int value = MPI_SUCCESS;
  if (error != MPI_SUCCESS) MPI_Error_class(error, &value);
  return value;
}

static void check(int error, const char* what) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (error == MPI_SUCCESS) return;
  MPI_Error_string(error, text, &length);
  printf("FAIL rank %d: %s: %s\n", rank, what, text);
  fflush(stdout);
}

static MPI_File open_file(int amode) {
  MPI_File fh = MPI_FILE_NULL;
  const int error = MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, &fh);
  check(error, "open");
  if (error != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);
  return fh;
}

static unsigned char* data_of(int seed, size_t size) {
  unsigned char* data = malloc(size);
  for (size_t i = 0; i < size; ++i)
    data[i] = (unsigned char)((i * 31 + (i >> 9)) * 7 + (size_t)(seed * 13 + rank * 5));
  return data;
}

/* Regions of the file, one for each way of writing; each rank has its part of every one. */
static void write_all_ways(MPI_File fh) {
  MPI_Request request;
  unsigned char* data = data_of(1, LARGE);
  const MPI_Offset mine = (MPI_Offset)rank * LARGE;
  check(MPI_File_write_at(fh, mine, data, LARGE, MPI_BYTE, MPI_STATUS_IGNORE), "large");
  MPI_Offset base = (MPI_Offset)ranks * LARGE;
  for (int i = 0; i < 50; ++i)
    check(MPI_File_write_at(fh, base + (i * ranks + rank) * SMALL, data + i, SMALL, MPI_BYTE,
                            MPI_STATUS_IGNORE),
          "small");
  base += 50 * ranks * SMALL;
  check(MPI_File_seek(fh, base + rank * 3 * SMALL, MPI_SEEK_SET), "seek");
  check(MPI_File_write(fh, data + 100, SMALL, MPI_BYTE, MPI_STATUS_IGNORE), "write");
  check(MPI_File_iwrite(fh, data + 200, SMALL, MPI_BYTE, &request), "iwrite");
  check(MPI_Wait(&request, MPI_STATUS_IGNORE), "wait");
  check(MPI_File_write_all_begin(fh, data + 300, SMALL, MPI_BYTE), "begin");
  check(MPI_File_write_all_end(fh, data + 300, MPI_STATUS_IGNORE), "end");
  base += 3 * ranks * SMALL;
  MPI_Datatype holes, strided;
  MPI_Type_vector(50, 3, 7, MPI_INT, &holes);
  MPI_Type_commit(&holes);
  check(MPI_File_write_at_all(fh, base + rank * 600, data, 1, holes, MPI_STATUS_IGNORE), "memory with holes");
  base += 600 * ranks;
  MPI_Type_vector(100, 5, 5 * ranks, MPI_INT, &strided);
  MPI_Type_commit(&strided);
  check(MPI_File_set_view(fh, base + rank * 20, MPI_INT, strided, "native", MPI_INFO_NULL), "view");
  check(MPI_File_write_all(fh, data + 400, 500, MPI_INT, MPI_STATUS_IGNORE), "write_all in a view");
  check(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), "view");
  MPI_Type_free(&holes);
  MPI_Type_free(&strided);
  free(data);
}

static uint64_t sum_of(const unsigned char* data, size_t size) {
  uint64_t sum = 1469598103934665603u;
  for (size_t i = 0; i < size; ++i) sum = (sum ^ data[i]) * 1099511628211u;
  return sum;
}

static unsigned char buffer[16 << 20];

/* What a read has brought, by its status, and that it has touched nothing else. */
static void told(FILE* out, int error, const char* what, MPI_Status* status) {
  int count = -1;
  check(error, what);
  MPI_Get_count(status, MPI_BYTE, &count);
  fprintf(out, "%s %d %016llx\n", what, count, (unsigned long long)sum_of(buffer, sizeof buffer));
  memset(buffer, 0x5a, sizeof buffer);
}

static void read_in_view(MPI_File fh, FILE* out) {
  MPI_Datatype strided, holes;
  MPI_Status status;
  MPI_Offset position = 0;
  MPI_Type_vector(1 << 16, 30, 30 * ranks, MPI_INT, &strided);
  MPI_Type_commit(&strided);
  MPI_Type_vector(1000, 3, 7, MPI_INT, &holes);
  MPI_Type_commit(&holes);
  check(MPI_File_set_view(fh, 40 + rank * 120, MPI_INT, strided, "native", MPI_INFO_NULL), "view");
  told(out, MPI_File_read_at(fh, 33, buffer, 100000, MPI_INT, &status), "strided", &status);
  told(out, MPI_File_read_all(fh, buffer, 10, holes, &status), "view, memory with holes", &status);
  check(MPI_File_get_position(fh, &position), "position");
  fprintf(out, "position %lld\n", (long long)position);
  check(MPI_File_seek(fh, -200, MPI_SEEK_END), "seek");
  check(MPI_File_get_position(fh, &position), "position");
  fprintf(out, "position %lld\n", (long long)position);
  told(out, MPI_File_read(fh, buffer, 100, MPI_INT, &status), "end of view", &status);
  MPI_Type_free(&strided);
  MPI_Type_vector(10, 1, 300000, MPI_INT, &strided);
  MPI_Type_commit(&strided);
  check(MPI_File_set_view(fh, rank * 4, MPI_INT, strided, "native", MPI_INFO_NULL), "view");
  told(out, MPI_File_read_at_all(fh, 0, buffer, 10, MPI_INT, &status), "far apart", &status);
  check(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), "view");
  MPI_Type_free(&strided);
  MPI_Type_free(&holes);
}

/* What all ranks wrote is there for all of them. */
static void publish(MPI_File fh) {
  check(MPI_File_sync(fh), "sync");
  MPI_Barrier(MPI_COMM_WORLD);
  check(MPI_File_sync(fh), "sync");
}

/* Where the individual pointer is after reads over the end of the file. */
static void read_over_the_end(MPI_File fh, FILE* out) {
  MPI_Request request;
  MPI_Status status;
  MPI_Offset position = 0;
  check(MPI_File_seek(fh, -7, MPI_SEEK_END), "seek");
  check(MPI_File_read(fh, buffer, 10, MPI_BYTE, &status), "read over the end");
  check(MPI_File_get_position(fh, &position), "position");
  fprintf(out, "position after a read over the end %lld\n", (long long)position);
  check(MPI_File_seek(fh, -7, MPI_SEEK_END), "seek");
  check(MPI_File_iread(fh, buffer, 10, MPI_BYTE, &request), "iread over the end");
  check(MPI_Wait(&request, &status), "wait");
  check(MPI_File_get_position(fh, &position), "position");
  fprintf(out, "position after an iread over the end %lld\n", (long long)position);
  memset(buffer, 0x5a, sizeof buffer);
}

/* A rank reads what it has just written, by a handle of the same file with another spelling of its name. */
static void read_by_another_name(MPI_File fh, FILE* out) {
  MPI_File other;
  MPI_Status status;
  char name[4200];
  const char* slash = strrchr(path, '/');
  snprintf(name, sizeof name, "%.*s/.//%s", (int)(slash - path), path, slash + 1);
  check(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR, MPI_INFO_NULL, &other), "open by another name");
  unsigned char* data = data_of(11, SMALL);
  const MPI_Offset mine = (MPI_Offset)rank * LARGE + 9000;
  check(MPI_File_write_at(fh, mine, data, SMALL, MPI_BYTE, MPI_STATUS_IGNORE), "own");
  told(out, MPI_File_read_at(other, mine, buffer, SMALL, MPI_BYTE, &status), "by another name", &status);
  check(MPI_File_close(&other), "close");
  free(data);
}

/* While the file is open for writing; what all ranks wrote has been synced. */
static void read_all_ways(MPI_File fh, FILE* out) {
  MPI_Status status;
  MPI_Request request;
  MPI_Offset size = 0;
  memset(buffer, 0x5a, sizeof buffer);
  check(MPI_File_get_size(fh, &size), "size");
  fprintf(out, "size %lld\n", (long long)size);
  told(out, MPI_File_read_at(fh, 0, buffer, sizeof buffer, MPI_BYTE, &status), "whole", &status);
  told(out, MPI_File_read_at(fh, size - 1000, buffer, 3000, MPI_BYTE, &status), "end", &status);
  told(out, MPI_File_read_at(fh, size + 1000, buffer, 3000, MPI_BYTE, &status), "behind", &status);
  told(out, MPI_File_read_at(fh, 100, buffer, 0, MPI_BYTE, &status), "nothing", &status);
  /* Its own writes, without a sync; of other ranks' bytes there nothing changes. */
  MPI_Barrier(MPI_COMM_WORLD);
  unsigned char* data = data_of(7, SMALL);
  const MPI_Offset mine = (MPI_Offset)rank * LARGE + 5000;
  check(MPI_File_write_at(fh, mine, data, SMALL, MPI_BYTE, MPI_STATUS_IGNORE), "own");
  told(out, MPI_File_read_at(fh, mine - 300, buffer, 2 * SMALL, MPI_BYTE, &status), "around own", &status);
  publish(fh);
  check(MPI_File_seek(fh, -500, MPI_SEEK_END), "seek");
  told(out, MPI_File_read(fh, buffer, 300, MPI_BYTE, &status), "read", &status);
  check(MPI_File_iread(fh, buffer, 300, MPI_BYTE, &request), "iread");
  check(MPI_Wait(&request, &status), "wait");
  told(out, MPI_SUCCESS, "iread", &status);
  read_over_the_end(fh, out);
  read_by_another_name(fh, out);
  publish(fh);
  told(out, MPI_File_read_at_all(fh, rank * 1000 + 7, buffer, 70000, MPI_BYTE, &status), "at all", &status);
  check(MPI_File_seek(fh, rank * 333, MPI_SEEK_SET), "seek");
  check(MPI_File_read_all_begin(fh, buffer, 5000, MPI_BYTE), "begin");
  told(out, MPI_File_read_all_end(fh, buffer, &status), "split", &status);
  told(out, MPI_File_read(fh, buffer, 300, MPI_BYTE, &status), "after split", &status);
  check(MPI_File_iread_at_all(fh, rank, buffer, 777, MPI_BYTE, &request), "iread_at_all");
  check(MPI_Wait(&request, &status), "wait");
  told(out, MPI_SUCCESS, "iread_at_all", &status);
  read_in_view(fh, out);
  MPI_Barrier(MPI_COMM_WORLD);
  check(MPI_File_write_at(fh, size + rank * SMALL, data, SMALL, MPI_BYTE, MPI_STATUS_IGNORE), "own");
  publish(fh);
  told(out, MPI_File_read_at_all(fh, size, buffer, rank == 1 ? 0 : ranks * SMALL, MPI_BYTE, &status),
       "others", &status);
  check(MPI_File_get_size(fh, &size), "size");
  fprintf(out, "size %lld\n", (long long)size);
  free(data);
}

static void append(void) {
  MPI_Offset position = 0;
  MPI_File fh = open_file(MPI_MODE_WRONLY | MPI_MODE_APPEND);
  unsigned char* data = data_of(2, SMALL);
  check(MPI_File_get_position(fh, &position), "position");
  check(MPI_File_write_at_all(fh, position + rank * SMALL, data, SMALL, MPI_BYTE, MPI_STATUS_IGNORE),
        "append");
  if (MPI_File_read_at(fh, 0, buffer, 10, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS)
    printf("FAIL rank %d: read where it may only write\n", rank);
  check(MPI_File_close(&fh), "close");
  free(data);
}

static void say_how(MPI_File fh) {
  MPI_Info info;
  char value[MPI_MAX_INFO_VAL + 1] = "nothing";
  int found = 0;
  check(MPI_File_get_info(fh, &info), "info");
  MPI_Info_get(info, "millrace_stage", MPI_MAX_INFO_VAL, value, &found);
  MPI_Info_free(&info);
  if (rank == ranks - 1) printf("read back: %s\n", value);
}

static void read_back(FILE* out) {
  MPI_Offset size = 0;
  MPI_File fh = open_file(MPI_MODE_RDONLY);
  check(MPI_File_get_size(fh, &size), "size");
  unsigned char* data = calloc(1, (size_t)size);
  check(MPI_File_read_at_all(fh, 0, data, (int)size, MPI_BYTE, MPI_STATUS_IGNORE), "read");
  fprintf(out, "size %lld sum %016llx\n", (long long)size, (unsigned long long)sum_of(data, (size_t)size));
  say_how(fh);
  check(MPI_File_close(&fh), "close");
  free(data);
}

static void expect(int error, const char* what) {
  if (class_of(error) != MPI_ERR_UNSUPPORTED_OPERATION)
    printf("FAIL rank %d: %s: %d\n", rank, what, class_of(error));
}

/* The last rank has a view without a byte, and takes part in the others' calls. */
static void empty_view(void) {
  const int count = rank == ranks - 1 ? 0 : 1;
  int length = 4, place = 4 * rank;
  char data[4] = "abc", found[4] = "";
  MPI_Datatype type;
  path = "/tmp/empty";
  MPI_File fh = open_file(MPI_MODE_RDWR | MPI_MODE_CREATE);
  MPI_Type_indexed(count, &length, &place, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  check(MPI_File_set_view(fh, 0, MPI_BYTE, type, "native", MPI_INFO_NULL), "empty view");
  check(MPI_File_write_at_all(fh, 0, data, 4 * count, MPI_BYTE, MPI_STATUS_IGNORE), "write of nothing");
  check(MPI_File_sync(fh), "sync");
  check(MPI_File_read_at_all(fh, 0, found, 4 * count, MPI_BYTE, MPI_STATUS_IGNORE), "read of nothing");
  if (count != 0 && memcmp(data, found, 4) != 0) printf("FAIL rank %d: empty view\n", rank);
  MPI_Type_free(&type);
  check(MPI_File_close(&fh), "close");
}

/* Its bytes are not in order in the file, so that no node without the file can read or write them. */
static void unordered_view(void) {
  const int lengths[] = {4, 4}, places[] = {8, 0};
  char data[8] = "";
  MPI_Datatype type;
  MPI_File fh = open_file(MPI_MODE_RDWR);
  MPI_Type_indexed(2, lengths, places, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  if (MPI_File_set_view(fh, 0, MPI_BYTE, type, "native", MPI_INFO_NULL) == MPI_SUCCESS && rank == ranks - 1) {
    expect(MPI_File_read_at(fh, 0, data, 8, MPI_BYTE, MPI_STATUS_IGNORE), "reading in an unordered view");
    expect(MPI_File_write_at(fh, 0, data, 8, MPI_BYTE, MPI_STATUS_IGNORE), "writing in an unordered view");
  }
  MPI_Type_free(&type);
  check(MPI_File_close(&fh), "close");
}

static void limits(void) {
  char data[10] = "";
  MPI_Offset at = 0;
  MPI_File fh = open_file(MPI_MODE_RDWR);
  expect(MPI_File_read_shared(fh, data, 10, MPI_BYTE, MPI_STATUS_IGNORE), "reading shared");
  expect(MPI_File_write_shared(fh, data, 10, MPI_BYTE, MPI_STATUS_IGNORE), "shared");
  expect(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET), "seek shared");
  expect(MPI_File_get_position_shared(fh, &at), "position shared");
  expect(MPI_File_set_atomicity(fh, 1), "atomic");
  check(MPI_File_close(&fh), "close");
  fh = open_file(MPI_MODE_RDONLY);
  expect(MPI_File_read_ordered(fh, data, 10, MPI_BYTE, MPI_STATUS_IGNORE), "ordered");
  check(MPI_File_close(&fh), "close");
  unordered_view();
  empty_view();
  path = "/tmp/there/is/none";
  int error = MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh);
  if (class_of(error) != MPI_ERR_NO_SUCH_FILE) printf("FAIL rank %d: none: %d\n", rank, class_of(error));
  error = MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &fh);
  if (error == MPI_SUCCESS) printf("FAIL rank %d: created %s\n", rank, path);
}

/* Larger by preallocating too; what is cut off is not there any more. Open MPI's own preallocation waits for
 * ranks that do not come, where one sees the new size early. */
static void resize(MPI_File fh, MPI_Offset bytes, FILE* out) {
  MPI_Offset size = 0;
  MPI_Status status;
  if (strcmp(mode, "limits") == 0) {
    check(MPI_File_preallocate(fh, bytes + 5000), "preallocate");
    check(MPI_File_get_size(fh, &size), "size");
    if (size < bytes + 5000) printf("FAIL rank %d: preallocated %lld\n", rank, (long long)size);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  check(MPI_File_set_size(fh, bytes), "set_size");
  MPI_Barrier(MPI_COMM_WORLD);
  check(MPI_File_get_size(fh, &size), "size");
  fprintf(out, "size %lld\n", (long long)size);
  told(out, MPI_File_read_at(fh, bytes - 100, buffer, 1000, MPI_BYTE, &status), "cut", &status);
}

/* Where another node has to be asked: ends with the first error, or not at all. */
static void read_until_it_fails(MPI_File fh) {
  int error = MPI_SUCCESS;
  printf("reads\n");
  fflush(stdout);
  const double start = MPI_Wtime();
  while (rank > 0 && error == MPI_SUCCESS && MPI_Wtime() - start < 60)
    error = MPI_File_read_at(fh, 0, buffer, LARGE, MPI_BYTE, MPI_STATUS_IGNORE);
  printf("rank %d read %s\n", rank, error == MPI_SUCCESS ? "on" : "failed");
  fflush(stdout);
  (void)MPI_File_close(&fh);
  MPI_Finalize();
  exit(0);
}

/* Every rank has to hear of it, at sync at the latest. */
static void space(void) {
  MPI_File fh = open_file(MPI_MODE_WRONLY | MPI_MODE_CREATE);
  unsigned char* data = data_of(1, LARGE);
  for (int i = 0; i < 4; ++i) {
    for (int part = 0; part < LARGE; part += 4096)
      (void)MPI_File_write_at(fh, ((MPI_Offset)i * ranks + rank) * LARGE + part, data + part, 4096, MPI_BYTE,
                              MPI_STATUS_IGNORE);
  }
  const int error = MPI_File_sync(fh);
  printf("rank %d no space %d\n", rank, class_of(error) == MPI_ERR_NO_SPACE);
  (void)MPI_File_close(&fh);
  free(data);
}

int main(int argc, char** argv) {
  char name[4096];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  path = argv[2];
  if (argc > 3) mode = argv[3];
  snprintf(name, sizeof name, "%s/reads-%d", argv[1], rank);
  FILE* out = fopen(name, "w");
  if (strcmp(mode, "space") == 0) {
    space();
  } else if (strcmp(mode, "read") == 0) {
    read_back(out);
  } else {
    MPI_File fh = open_file(MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_EXCL);
    write_all_ways(fh);
    publish(fh);
    if (strcmp(mode, "wait") == 0) read_until_it_fails(fh);
    read_all_ways(fh, out);
    publish(fh);
    resize(fh, (MPI_Offset)ranks * (LARGE + 90000), out);
    resize(fh, (MPI_Offset)ranks * (LARGE + 80000), out);
    check(MPI_File_close(&fh), "close");
    append();
    read_back(out);
    if (strcmp(mode, "limits") == 0) limits();
  }
  fclose(out);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("end\n");
  MPI_Finalize();
  return 0;
}
