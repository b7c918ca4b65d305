/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Several threads of each rank write one file, each with a datatype of its own. usage: threads DIRECTORY */
#include <pthread.h>

#include "check.h"

enum { THREADS = 4, CALLS = 200, ROW = 16 };
static MPI_File fh;
static MPI_Offset taken; /* bytes that the individual pointer of this rank has moved */
static int next_record;
/* The MPI library alone writes the same bytes by calls that it can take: threads that wait for non-blocking
 * writes crash Open MPI's ompio (its list of pending requests has no lock), and ROMIO's individual pointer
 * loses calls. */
static int with_millrace;

static void* writer(void* argument) {
  const int me = (int)(size_t)argument;
  MPI_Datatype columns; /* every second int of a row */
  CHECK(MPI_Type_vector(ROW / 2, 1, 2, MPI_INT, &columns));
  CHECK(MPI_Type_commit(&columns));
  for (int k = 0; k < CALLS; ++k) {
    int buf[ROW];
    MPI_Offset at = (((MPI_Offset)k * nranks + rank) * THREADS + me) * (ROW / 2);
    for (int i = 0; i < ROW; ++i) buf[i] = (int)at + i;
    if (k % 3 == 0 && with_millrace) {
      MPI_Request request;
      CHECK(MPI_File_iwrite_at(fh, at, buf, 1, columns, &request));
      CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
      CHECK(MPI_File_write_at(fh, at, buf, 1, columns, MPI_STATUS_IGNORE));
    }
  }
  CHECK(MPI_Type_free(&columns));
  return NULL;
}

/* The individual pointer gives each call a place of its own, whichever thread comes first. */
static void* appender(void* unused) {
  (void)unused;
  for (int k = 0; k < CALLS; ++k) {
    const int id = __atomic_fetch_add(&next_record, 1, __ATOMIC_RELAXED);
    const int buf[4] = {id, id, id, id};
    CHECK(MPI_File_write(fh, buf, 4, MPI_INT, MPI_STATUS_IGNORE));
  }
  __atomic_fetch_add(&taken, CALLS * 4, __ATOMIC_RELAXED);
  return NULL;
}

/* Each record is in the file once. */
static void check_records(const char* path) {
  static int seen[THREADS * CALLS];
  int record[4];
  FILE* file = fopen(path, "rb");
  EXPECT(file != NULL);
  while (file != NULL && fread(record, sizeof record, 1, file) == 1) {
    const int sound = record[0] >= 0 && record[0] < THREADS * CALLS && record[0] == record[3];
    EXPECT(sound);
    if (sound) ++seen[record[0]];
  }
  int once = 0;
  for (int id = 0; id < THREADS * CALLS; ++id) once += seen[id] == 1;
  EXPECT(once == THREADS * CALLS);
  if (file != NULL) fclose(file);
  EXPECT(remove(path) == 0); /* their order differs from run to run */
}

int main(int argc, char** argv) {
  pthread_t threads[THREADS];
  char path[4096];
  start(&argc, &argv);
  int level = 0;
  MPI_Query_thread(&level);
  if (level < MPI_THREAD_MULTIPLE) {
    if (rank == 0) printf("skip threads: this MPI has no MPI_THREAD_MULTIPLE\n");
    return finish();
  }
  with_millrace = getenv("TEST_MILLRACE") != NULL;
  snprintf(path, sizeof path, "%s/threads", argv[1]);
  CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  CHECK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  for (size_t i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, writer, (void*)i);
  for (size_t i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  CHECK(MPI_File_close(&fh));
  passed("threads");
  snprintf(path, sizeof path, "%s/pointer.%d", argv[1], rank);
  CHECK(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  CHECK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  if (with_millrace) {
    for (size_t i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, appender, NULL);
    for (size_t i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  } else {
    for (size_t i = 0; i < THREADS; ++i) appender(NULL);
  }
  MPI_Offset at = -1;
  CHECK(MPI_File_get_position(fh, &at));
  EXPECT(at == taken && taken == THREADS * CALLS * 4);
  CHECK(MPI_File_close(&fh));
  check_records(path);
  passed("pointer");
  return finish();
}
