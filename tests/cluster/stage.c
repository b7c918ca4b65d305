/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reads a file in every way that MPI has, and says what came: lines in FOLDER/reads-RANK, the same whether or
 * not the file is staged. Whether it was: "staged whole" or "staged none" on stdout.
 *
 * usage: stage FOLDER FILE [changed | ordered | again TIMES | wait SECONDS] */
#include <fcntl.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, ranks;
static FILE* out;
static const char* path;

static void say(const char* format, ...) {
  va_list words;
  va_start(words, format);
  vfprintf(out, format, words);
  va_end(words);
  fputc('\n', out);
}

static int class_of(int error) {
  int value = MPI_SUCCESS;
  if (error != MPI_SUCCESS) MPI_Error_class(error, &value);
  return value;
}

/* What a read returned, and where it left the pointer. */
static void told(const char* what, MPI_File fh, int error, const void* data, MPI_Status* status,
                 size_t room) {
  MPI_Offset position = -1;
  int count = -1;
  uint64_t sum = 1469598103934665603u;
  if (error == MPI_SUCCESS) MPI_Get_count(status, MPI_BYTE, &count);
  for (size_t i = 0; i < room; ++i) sum = (sum ^ ((const unsigned char*)data)[i]) * 1099511628211u;
  MPI_File_get_position(fh, &position);
  say("%s: error %d count %d sum %016llx position %lld", what, class_of(error), count,
      (unsigned long long)sum, (long long)position);
}

static const char* stage_of(MPI_File fh) {
  static char value[MPI_MAX_INFO_VAL + 1];
  int found = 0;
  MPI_Info info;
  MPI_File_get_info(fh, &info);
  MPI_Info_get(info, "millrace_stage", MPI_MAX_INFO_VAL, value, &found);
  MPI_Info_free(&info);
  return found ? value : "none";
}

static MPI_File open_file(void) {
  MPI_File fh = MPI_FILE_NULL;
  const int error = MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh);
  if (error != MPI_SUCCESS) {
    printf("FAIL rank %d: open %d\n", rank, class_of(error));
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  if (rank == 0) printf("staged %s\n", stage_of(fh));
  fflush(stdout);
  return fh;
}

enum { ROOM = 300000 };
static char data[ROOM];
static MPI_Status status;
#define CLEAR memset(data, 0, sizeof data)

static void whole(MPI_File fh, const char* what) {
  MPI_Offset size = 0;
  MPI_File_get_size(fh, &size);
  char* all = malloc((size_t)size + 1);
  const int error = MPI_File_read_at(fh, 0, all, (int)size, MPI_BYTE, &status);
  told(what, fh, error, all, &status, (size_t)size);
  free(all);
}

static void by_offset(MPI_File fh) {
  MPI_Request request;
  CLEAR;
  told("read_at", fh, MPI_File_read_at(fh, 100 + rank, data, 1000, MPI_BYTE, &status), data, &status, 1000);
  CLEAR;
  told("read_at_all", fh, MPI_File_read_at_all(fh, 5000 * rank, data, 5000, MPI_BYTE, &status), data, &status,
       5000);
  CLEAR;
  int error = MPI_File_iread_at(fh, 70000 + rank, data, ROOM, MPI_BYTE, &request);
  MPI_Wait(&request, &status);
  told("iread_at", fh, error, data, &status, ROOM);
  CLEAR;
  error = MPI_File_iread_at_all(fh, 7000 + rank, data, 7777, MPI_BYTE, &request);
  MPI_Wait(&request, &status);
  told("iread_at_all", fh, error, data, &status, 7777);
  CLEAR;
  MPI_File_read_at_all_begin(fh, 9 * rank, data, 4001, MPI_BYTE);
  told("read_at_all_begin", fh, MPI_File_read_at_all_end(fh, data, &status), data, &status, 4001);
}

static void by_pointer(MPI_File fh) {
  MPI_Request request;
  MPI_File_seek(fh, 10 * rank, MPI_SEEK_SET);
  CLEAR;
  told("read", fh, MPI_File_read(fh, data, 1001, MPI_BYTE, &status), data, &status, 1001);
  MPI_File_seek(fh, -7, MPI_SEEK_CUR);
  CLEAR;
  told("read_all", fh, MPI_File_read_all(fh, data, 900 + rank, MPI_BYTE, &status), data, &status, 1000);
  CLEAR;
  int error = MPI_File_iread(fh, data, 800, MPI_BYTE, &request);
  MPI_Wait(&request, &status);
  told("iread", fh, error, data, &status, 800);
  CLEAR;
  error = MPI_File_iread_all(fh, data, 801, MPI_BYTE, &request);
  MPI_Wait(&request, &status);
  told("iread_all", fh, error, data, &status, 801);
  CLEAR;
  MPI_File_read_all_begin(fh, data, 555, MPI_BYTE);
  told("read_all_begin", fh, MPI_File_read_all_end(fh, data, &status), data, &status, 555);
  MPI_File_seek(fh, -100, MPI_SEEK_END);
  CLEAR;
  told("over the end", fh, MPI_File_read(fh, data, 1000, MPI_BYTE, &status), data, &status, 1000);
  told("at the end", fh, MPI_File_read(fh, data, 1000, MPI_BYTE, &status), data, &status, 1000);
  told("far behind", fh, MPI_File_read_at(fh, (MPI_Offset)1 << 40, data, 10, MPI_BYTE, &status), data,
       &status, 0);
}

static void by_shared_pointer(MPI_File fh) {
  CLEAR;
  told("read_ordered", fh, MPI_File_read_ordered(fh, data, 100 + rank, MPI_BYTE, &status), data, &status,
       200);
  MPI_Offset position = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_get_position_shared(fh, &position);
  say("shared position %lld", (long long)position);
  MPI_Barrier(MPI_COMM_WORLD);
  /* Each piece comes to one rank, whichever: the sum over ranks is known. */
  unsigned long mine = 0, all = 0;
  const int error = MPI_File_read_shared(fh, data, 500, MPI_BYTE, &status);
  for (int i = 0; i < 500; ++i) mine += (unsigned char)data[i] * (unsigned long)(i + 1);
  MPI_Allreduce(&mine, &all, 1, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD);
  say("read_shared: error %d, all of it %lu", class_of(error), all);
  MPI_File_seek_shared(fh, 40, MPI_SEEK_SET);
  CLEAR;
  MPI_File_read_ordered_begin(fh, data, 60, MPI_BYTE);
  told("read_ordered_begin", fh, MPI_File_read_ordered_end(fh, data, &status), data, &status, 60);
}

static void views(MPI_File fh) {
  MPI_Datatype strided, memory;
  MPI_Type_vector(8, 3, 3 * ranks, MPI_INT, &strided);
  MPI_Type_create_resized(strided, 0, (MPI_Aint)(8 * 3 * ranks * sizeof(int)), &memory);
  MPI_Type_commit(&memory);
  MPI_File_set_view(fh, 12 * rank, MPI_INT, memory, "native", MPI_INFO_NULL);
  CLEAR;
  told("view, read", fh, MPI_File_read(fh, data, 1000, MPI_INT, &status), data, &status, 4000);
  CLEAR;
  told("view, read_all", fh, MPI_File_read_all(fh, data, 1000, MPI_INT, &status), data, &status, 4000);
  MPI_File_seek(fh, -50, MPI_SEEK_END);
  CLEAR;
  told("view, the end", fh, MPI_File_read(fh, data, 40, MPI_INT, &status), data, &status, 2000);
  CLEAR;
  MPI_Datatype holes;
  MPI_Type_vector(100, 2, 5, MPI_INT, &holes);
  MPI_Type_commit(&holes);
  told("view, memory with holes", fh, MPI_File_read_at(fh, 9, data, 3, holes, &status), data, &status, 6000);
  MPI_Offset place = 0;
  MPI_File_get_byte_offset(fh, 1000, &place);
  say("byte offset %lld", (long long)place);
  MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  MPI_Type_free(&holes);
  MPI_Type_free(&memory);
  MPI_Type_free(&strided);
}

static void questions(MPI_File fh) {
  MPI_Offset size = 0;
  int amode = 0, members = 0, atomic = -1;
  MPI_Group group;
  MPI_File_get_size(fh, &size);
  MPI_File_get_amode(fh, &amode);
  MPI_File_get_group(fh, &group);
  MPI_Group_size(group, &members);
  MPI_Group_free(&group);
  MPI_File_get_atomicity(fh, &atomic);
  say("size %lld amode %d group %d atomic %d", (long long)size, amode == MPI_MODE_RDONLY, members, atomic);
  say("write: error %d", MPI_File_write_at(fh, 0, data, 1, MPI_BYTE, &status) != MPI_SUCCESS);
  say("negative: error %d", MPI_File_read_at(fh, -1, data, 1, MPI_BYTE, &status) != MPI_SUCCESS);
  say("sync: error %d", class_of(MPI_File_sync(fh)));
}

/* Another program changes the file between two syncs. */
static void changed(MPI_File fh) {
  whole(fh, "before");
  MPI_File_seek(fh, 33, MPI_SEEK_SET);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    const int fd = open(path, O_WRONLY);
    if (pwrite(fd, "changed", 7, 40) != 7) printf("FAIL pwrite\n");
    close(fd);
  }
  MPI_File_sync(fh);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(fh);
  whole(fh, "after");
  CLEAR;
  told("from 33", fh, MPI_File_read_all(fh, data, 100, MPI_BYTE, &status), data, &status, 100);
  if (rank == 0) printf("then %s\n", stage_of(fh));
}

/* What a rank writes by another handle before a barrier is read after it, also where it was read ahead. */
static void ordered(MPI_File fh, MPI_File other) {
  enum { PIECE = 4096, STEP = 2 * PIECE, READS = 100 };
  const int writers[] = {1, ranks - 1};
  for (int turn = 0; turn < 2; ++turn) {
    const MPI_Offset begin = (MPI_Offset)turn * READS * STEP, next = begin + READS * STEP;
    for (MPI_Offset at = begin; rank == 0 && at < next; at += STEP)
      MPI_File_read_at(fh, at, data, PIECE, MPI_BYTE, &status);
    MPI_Barrier(MPI_COMM_WORLD);
    memset(data, 7, PIECE);
    if (rank == writers[turn]) MPI_File_write_at(other, next, data, PIECE, MPI_BYTE, &status);
    MPI_Barrier(MPI_COMM_WORLD);
    CLEAR;
    if (rank == 0)
      told("ordered", fh, MPI_File_read_at(fh, next, data, PIECE, MPI_BYTE, &status), data, &status, PIECE);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  char name[4096];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  path = argv[2];
  snprintf(name, sizeof name, "%s/reads-%d", argv[1], rank);
  out = fopen(name, "w");
  const char* mode = argc > 3 ? argv[3] : "all";
  const int times = strcmp(mode, "again") == 0 ? atoi(argv[4]) : 1;
  for (int i = 0; i < times; ++i) {
    MPI_File other = MPI_FILE_NULL;
    if (strcmp(mode, "ordered") == 0)
      MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &other);
    MPI_File fh = open_file();
    if (strcmp(mode, "changed") == 0) {
      changed(fh);
    } else if (strcmp(mode, "ordered") == 0) {
      ordered(fh, other);
    } else if (strcmp(mode, "wait") == 0) {
      sleep((unsigned)atoi(argv[4]));
      whole(fh, "whole");
    } else {
      whole(fh, "whole");
      by_offset(fh);
      by_pointer(fh);
      by_shared_pointer(fh);
      views(fh);
      questions(fh);
    }
    if (MPI_File_close(&fh) != MPI_SUCCESS) printf("FAIL close\n");
    if (other != MPI_FILE_NULL) MPI_File_close(&other);
  }
  fclose(out);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("end\n");
  MPI_Finalize();
  return 0;
}
