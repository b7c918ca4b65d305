/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "fpp/kernel.h"

static FILE* file;
static char* buffer;

static int c_open(const char* path, int writes, uint64_t buffer_bytes) {
  file = fopen(path, writes ? "wb" : "rb");
  if (file == NULL) return 1;
  buffer = malloc(buffer_bytes);
  return buffer == NULL || setvbuf(file, buffer, _IOFBF, buffer_bytes) != 0;
}

static int c_write(const double* values, uint64_t count) {
  return fwrite(values, sizeof *values, count, file) != count || fflush(file) != 0;
}

static int c_read(double* values, uint64_t count) {
  return fread(values, sizeof *values, count, file) != count;
}

static int c_close(void) {
  const int failed = fclose(file) != 0;
  free(buffer);
  buffer = NULL;
  return failed;
}

const struct fpp_kernel fpp_c = {c_open, c_write, c_read, c_close};
