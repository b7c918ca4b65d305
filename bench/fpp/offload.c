/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What runs on the host for `--method offload`: the papers' functions for VHcall, with fwrite and fread,
 * whose values are in the caller's memory. 0 if it worked.
 */
#include <millrace/call.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

enum { PIECE_BYTES = 8 << 20 };
static FILE* file;
static char* buffer;
static char piece[PIECE_BYTES];

EXPORT uint64_t host_open(const char* path, int writes, uint64_t buffer_bytes) {
  file = fopen(path, writes ? "wb" : "rb");
  if (file == NULL) return 1;
  buffer = malloc(buffer_bytes);
  return buffer == NULL || setvbuf(file, buffer, _IOFBF, buffer_bytes) != 0;
}

EXPORT uint64_t host_write(millrace_call* call, uint64_t from, uint64_t bytes) {
  for (uint64_t done = 0; done < bytes; done += PIECE_BYTES) {
    const size_t some = bytes - done < PIECE_BYTES ? bytes - done : PIECE_BYTES;
    if (call->recv_data(call, piece, from + done, some) != 0 || fwrite(piece, 1, some, file) != some)
      return 1;
  }
  return fflush(file) != 0;
}

EXPORT uint64_t host_read(millrace_call* call, uint64_t to, uint64_t bytes) {
  for (uint64_t done = 0; done < bytes; done += PIECE_BYTES) {
    const size_t some = bytes - done < PIECE_BYTES ? bytes - done : PIECE_BYTES;
    if (fread(piece, 1, some, file) != some || call->send_data(call, to + done, piece, some) != 0) return 1;
  }
  return 0;
}

EXPORT uint64_t host_close(void) {
  const int failed = fclose(file) != 0;
  free(buffer);
  buffer = NULL;
  return failed;
}
