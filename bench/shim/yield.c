/* SPDX-FileCopyrightText: 2026 The Millrace authors
   SPDX-License-Identifier: Apache-2.0 */

/* Preload for Debian's MPICH (ch4:ucx), which waits by calling ucp_worker_progress without end and never
   gives up its core. With more ranks than cores, each waiting rank then burns a whole time slice. This makes
   a rank that made no progress yield. Used for the stock library and for Millrace alike, so that both are
   measured with ranks that share cores as they should. It changes nothing where UCX is not used. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned (*progress_function)(void*);

static _Atomic(progress_function) real_progress;

static progress_function find_real(void) {
  static const char name[] = "ucp_worker_progress";
  void* symbol = dlsym(RTLD_NEXT, name);
  if (symbol == NULL) {
    /* A program that loads MPI by dlopen keeps UCX out of the global scope. */
    void* library = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
    if (library != NULL) symbol = dlsym(library, name);
  }
  if (symbol == NULL) {
    fputs("millrace-bench-yield: ucp_worker_progress was called but cannot be found in libucp.so.0\n",
          stderr);
    abort();
  }
  progress_function function;
  memcpy(&function, &symbol, sizeof function);
  atomic_store_explicit(&real_progress, function, memory_order_release);
  return function;
}

__attribute__((visibility("default"))) unsigned ucp_worker_progress(void* worker) {
  progress_function function = atomic_load_explicit(&real_progress, memory_order_acquire);
  if (function == NULL) function = find_real();
  const unsigned events = function(worker);
  if (events == 0) sched_yield();
  return events;
}
