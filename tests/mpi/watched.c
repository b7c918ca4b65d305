/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The main thread alone calls MPI, and says so. Another thread looks at the file that is written, as a
 * display of progress does. usage: watched DIRECTORY */
#include <pthread.h>
#include <sys/stat.h>

#include "check.h"

enum { record = 96, records = 200000 };
static char path[4096];
static volatile int stop;

static void* watch(void* unused) {
  (void)unused;
  struct stat about;
  while (!stop) EXPECT(stat(path, &about) == 0);
  return NULL;
}

int main(int argc, char** argv) {
  MPI_File fh;
  pthread_t thread;
  char data[record], found[record];
  start_as(MPI_THREAD_FUNNELED, &argc, &argv);
  snprintf(path, sizeof path, "%s/watched.%d", argv[1], rank);
  CHECK(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  pthread_create(&thread, NULL, watch, NULL);
  for (int i = 0; i < records && failures == 0; ++i) {
    memset(data, 'a' + i % 26, record);
    CHECK(MPI_File_write_at(fh, (MPI_Offset)i * record, data, record, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  stop = 1;
  pthread_join(thread, NULL);
  CHECK(MPI_File_close(&fh));
  FILE* in = fopen(path, "rb");
  for (int i = 0; i < records && failures == 0; ++i) {
    memset(data, 'a' + i % 26, record);
    EXPECT(fread(found, 1, record, in) == record && memcmp(found, data, record) == 0);
  }
  fclose(in);
  passed("watched");
  return finish();
}
