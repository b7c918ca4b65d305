/* SPDX-FileCopyrightText: 2026 The Millrace authors
   SPDX-License-Identifier: Apache-2.0 */

/* Preload for Debian's MPICH (ch4:ucx, before 4.2) between nodes without shared memory. In MPI_Finalize a
   rank whose endpoints are flushed waits in a barrier of the process manager, reading from its socket, and no
   longer answers those whose are not: with UCX over TCP most jobs never end (pmodels/mpich pull request
   6596). Here such a rank makes UCX progress until the socket has something to read. It changes nothing
   before MPI_Finalize, and nothing where UCX is not used. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

typedef ssize_t (*read_function)(int, void*, size_t);

static _Atomic(read_function) real_read;
static void* worker; /* MPICH has one, made in MPI_Init */
static int finalizing;
static pid_t finalizing_thread;

static void* next(const char* name) {
  void* symbol = dlsym(RTLD_NEXT, name);
  if (symbol == NULL) {
    /* A program that loads MPI by dlopen keeps UCX out of the global scope. */
    void* library = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
    if (library != NULL) symbol = dlsym(library, name);
  }
  return symbol;
}

EXPORT int ucp_worker_create(void* context, const void* parameters, void** made) {
  int (*real)(void*, const void*, void**);
  void* symbol = next("ucp_worker_create");
  if (symbol == NULL) return -1;
  memcpy(&real, &symbol, sizeof real);
  const int status = real(context, parameters, made);
  if (status == 0 && worker == NULL) worker = *made;
  return status;
}

EXPORT void ucp_worker_destroy(void* which) {
  if (which == worker) {
    worker = NULL;
    finalizing = 0;
  }
  void (*real)(void*);
  void* symbol = next("ucp_worker_destroy");
  if (symbol == NULL) return;
  memcpy(&real, &symbol, sizeof real);
  real(which);
}

EXPORT void* ucp_disconnect_nb(void* endpoint) {
  finalizing_thread = (pid_t)syscall(SYS_gettid);
  finalizing = 1;
  void* (*real)(void*);
  void* symbol = next("ucp_disconnect_nb");
  if (symbol == NULL) return NULL;
  memcpy(&real, &symbol, sizeof real);
  return real(endpoint);
}

static void wait_in_progress(int fd) {
  unsigned (*progress)(void*);
  void* symbol = next("ucp_worker_progress");
  if (symbol == NULL) return;
  memcpy(&progress, &symbol, sizeof progress);
  struct pollfd waiting = {.fd = fd, .events = POLLIN};
  while (poll(&waiting, 1, 1) == 0) progress(worker);
}

EXPORT ssize_t read(int fd, void* buffer, size_t size) {
  read_function function = atomic_load_explicit(&real_read, memory_order_acquire);
  if (function == NULL) {
    void* symbol = dlsym(RTLD_NEXT, "read");
    memcpy(&function, &symbol, sizeof function);
    atomic_store_explicit(&real_read, function, memory_order_release);
  }
  if (finalizing && worker != NULL && (pid_t)syscall(SYS_gettid) == finalizing_thread) {
    finalizing = 0; /* UCX itself reads in progress(): those calls go straight through */
    wait_in_progress(fd);
    finalizing = 1;
  }
  return function(fd, buffer, size);
}
