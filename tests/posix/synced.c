// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Preloaded after Millrace. With TEST_SYNCED, the process has written and synced a large file before main(),
// so early writeback is on for the next 128 MiB. No fault of fault.c meets this file.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PIECE = 1 << 20, TIMES = 32 };

static const char* const faults[] = {"FAULT_AT", "FAULT_SHORT"};

__attribute__((constructor)) static void sync_a_file(void) {
  if (getenv("TEST_SYNCED") == NULL) return;
  char* kept[2] = {NULL, NULL};
  for (int i = 0; i < 2; ++i) {
    if (getenv(faults[i]) != NULL) kept[i] = strdup(getenv(faults[i]));
    unsetenv(faults[i]);
  }
  const int file = memfd_create("synced", MFD_CLOEXEC);
  char* data = calloc(1, PIECE);
  for (int i = 0; file >= 0 && data != NULL && i < TIMES; ++i) {
    if (write(file, data, PIECE) != PIECE || lseek(file, 0, SEEK_SET) != 0) break;
  }
  fsync(file);
  close(file);
  free(data);
  for (int i = 0; i < 2; ++i) {
    if (kept[i] != NULL) setenv(faults[i], kept[i], 1);
    free(kept[i]);
  }
}
