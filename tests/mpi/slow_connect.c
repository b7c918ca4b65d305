/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Preload: a process that finds nobody listening at a name of the abstract namespace learns it late, as on an
 * overloaded node. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

int connect(int socket, const struct sockaddr* address, socklen_t size) {
  int (*next)(int, const struct sockaddr*, socklen_t);
  void* symbol = dlsym(RTLD_NEXT, "connect");
  memcpy(&next, &symbol, sizeof next);
  const int result = next(socket, address, size);
  const int error = errno;
  const struct sockaddr_un* name = (const struct sockaddr_un*)address;
  if (result != 0 && error == ECONNREFUSED && name->sun_family == AF_UNIX && name->sun_path[0] == 0) {
    const struct timespec late = {0, 30 * 1000 * 1000};
    nanosleep(&late, NULL);
  }
  errno = error;
  return result;
}
