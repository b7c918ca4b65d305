/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Writes what victim.c writes with two ranks, by write(2) in one process, and tells errors in the same words.
 * At piece STOP it says "at 0 PID" and waits for the file GO.
 * usage: plain FILE PIECES sync|none STOP GO */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void tell(const char* call, int bad) {
  const char* name = errno == ENOSPC   ? "MPI_ERR_NO_SPACE"
                     : errno == EDQUOT ? "MPI_ERR_QUOTA"
                     : errno == EACCES ? "MPI_ERR_ACCESS"
                                       : "MPI_ERR_IO";
  if (bad) printf("error 0 %s %s\n", call, name);
  fflush(stdout);
}

int main(int argc, char** argv) {
  unsigned char data[1024];
  if (argc < 6) return 2;
  const long pieces = 2 * atol(argv[2]), stop = 2 * atol(argv[4]);
  const int file = open(argv[1], O_CREAT | O_RDWR, 0644);
  tell("open", file < 0);
  for (long i = 0; i < pieces; ++i) {
    const long offset = i * (long)sizeof data;
    if (i == stop) {
      printf("at 0 %d\n", (int)getpid());
      fflush(stdout);
      while (access(argv[5], F_OK) != 0) usleep(10000);
    }
    for (long j = 0; j < (long)sizeof data; ++j)
      data[j] = (unsigned char)((offset + j) * 7 + ((offset + j) >> 10));
    for (size_t done = 0; done < sizeof data;) {
      const ssize_t moved = write(file, data + done, sizeof data - done);
      if (moved <= 0) {
        if (moved == 0) errno = EIO;
        tell("write", 1);
        i = pieces;
        break;
      }
      done += (size_t)moved;
    }
  }
  if (strcmp(argv[3], "sync") == 0) tell("sync", fsync(file) != 0);
  tell("close", close(file) != 0);
  printf("end\n");
  return 0;
}
