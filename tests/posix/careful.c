// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// careful FILE CALL_BYTES CALLS: writes a file as careful programs do, and says which call said what was
// wrong, and how much it believes to have written.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  size_t size = strtoul(argv[2], NULL, 10), total = 0;
  int calls = atoi(argv[3]), wrong = 0;
  char* data = malloc(size);
  int fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (data == NULL || fd < 0) return 2;
  for (int i = 0; i < calls && !wrong; i++) {
    for (size_t k = 0; k < size; k++) data[k] = (char)((total + k) * 2654435761U >> 13);
    for (size_t done = 0; done < size && !wrong;) {
      ssize_t n = write(fd, data + done, size - done);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        printf("write %s\n", strerrorname_np(errno));
        wrong = 1;
      } else {
        done += (size_t)n;
        total += (size_t)n;
      }
    }
  }
  off_t place = lseek(fd, 0, SEEK_CUR);
  if (fsync(fd) != 0) printf("fsync %s\n", strerrorname_np(errno));
  if (fsync(fd) != 0) printf("again %s\n", strerrorname_np(errno));
  if (close(fd) != 0) printf("close %s\n", strerrorname_np(errno));
  printf("%zu %ld\n", total, (long)place);
  return 0;
}
