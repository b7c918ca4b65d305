/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What handles.c and unable.c share. */
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include "check.h"

enum { bytes = 1024, big = 4 << 20, many = 4096 };

static const char* directory;
static char names[4][4096];

/* A name in the directory; every rank has its own when `own`. */
static inline const char* name_of(int which, const char* name, int own) {
  if (own)
    snprintf(names[which], sizeof names[which], "%s/%s.%d", directory, name, rank);
  else
    snprintf(names[which], sizeof names[which], "%s/%s", directory, name);
  return names[which];
}

static inline MPI_File open_as(MPI_Comm comm, const char* path, int amode) {
  MPI_File fh = MPI_FILE_NULL;
  CHECK(MPI_File_open(comm, path, amode, MPI_INFO_NULL, &fh));
  return fh;
}

static const int create = MPI_MODE_CREATE | MPI_MODE_RDWR;

static inline void make_empty(const char* path) {
  const int fd = open(path, O_CREAT | O_RDWR, 0644);
  EXPECT(fd >= 0);
  close(fd);
}

static inline void put(MPI_File fh, MPI_Offset at, int count, int value) {
  char* data = malloc((size_t)count);
  memset(data, value, (size_t)count);
  CHECK(MPI_File_write_at(fh, at, data, count, MPI_BYTE, MPI_STATUS_IGNORE));
  free(data);
}

/* `count` bytes at `at` are `value`, and the call has read so many. */
static inline int has(MPI_File fh, MPI_Offset at, int count, int value) {
  char* data = malloc((size_t)count);
  MPI_Status status;
  int got = 0, bad = 0;
  CHECK(MPI_File_read_at(fh, at, data, count, MPI_BYTE, &status));
  MPI_Get_count(&status, MPI_BYTE, &got);
  for (int i = 0; i < got; ++i) bad += data[i] != (char)value;
  free(data);
  return got == count && bad == 0;
}

static inline MPI_Offset size_of(MPI_File fh) {
  MPI_Offset size = -1;
  CHECK(MPI_File_get_size(fh, &size));
  return size;
}
