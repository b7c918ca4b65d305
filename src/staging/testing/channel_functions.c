/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Functions for channels to run, as a user would write them. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "millrace/call.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT uint64_t add(int a, int b) {
  const int sum = a + b;
  return (uint64_t)sum;
}

EXPORT uint64_t weigh(int a, double x, const char* text, float y, uint64_t b, double z) {
  return (uint64_t)a * 1000000 + (uint64_t)(x * 100) + strlen(text) + (uint64_t)(y * 10) + b + (uint64_t)z;
}

EXPORT uint64_t most(int a, int b, int c, int d, int e, int f, double g, double h, double i, double j,
                     double k, double l, double m, double n) {
  return (uint64_t)(a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k +
                    12 * l + 13 * m + 14 * n);
}

/* in, out, inout */
EXPORT uint64_t sum(const double* in, uint64_t count, double* total, double* scaled) {
  *total = 0;
  for (uint64_t i = 0; i < count; ++i) {
    *total += in[i];
    scaled[i] *= in[i];
  }
  return count;
}

/* Copies the caller's bytes to a file, in pieces. */
EXPORT uint64_t to_file(millrace_call* call, const char* path, uint64_t from, uint64_t bytes) {
  static char piece[3 << 20];
  FILE* file = fopen(path, "wb");
  if (file == NULL) return (uint64_t)errno;
  for (uint64_t done = 0; done < bytes; done += sizeof piece) {
    const size_t some = bytes - done < sizeof piece ? bytes - done : sizeof piece;
    if (call->recv_data(call, piece, from + done, some) != 0 || fwrite(piece, 1, some, file) != some) {
      const int error = errno;
      fclose(file);
      return (uint64_t)error;
    }
  }
  return fclose(file) == 0 ? 0 : (uint64_t)errno;
}

EXPORT uint64_t fill(millrace_call* call, uint64_t to, uint64_t bytes, int value) {
  static char piece[1 << 20];
  memset(piece, value, sizeof piece);
  for (uint64_t done = 0; done < bytes; done += sizeof piece) {
    const size_t some = bytes - done < sizeof piece ? bytes - done : sizeof piece;
    if (call->send_data(call, to + done, piece, some) != 0) return (uint64_t)errno;
  }
  return 0;
}

EXPORT uint64_t process(void) { return (uint64_t)getpid(); }

EXPORT uint64_t die(void) { return (uint64_t)kill(getpid(), SIGKILL); }

/* Waits until another process has written to the named pipe. */
EXPORT uint64_t wait_for(const char* path) {
  FILE* file = fopen(path, "rb");
  if (file == NULL) return (uint64_t)errno;
  const int letter = fgetc(file);
  fclose(file);
  return letter == 'x' ? 0 : 1;
}
