// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
//
// For LD_PRELOAD of the kernel of user-mode Linux (linux.uml). Its buffer for a process's vector registers is
// smaller than the registers of processors with AMX, and PTRACE_SETREGSET takes whole sets only. So this
// ptrace() fills in the rest from the process itself.
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static long call(long request, long process, void* address, void* more) {
  return syscall(SYS_ptrace, request, process, address, more);
}

static long set_whole(long process, void* address, const struct iovec* given) {
  static char whole[65536] __attribute__((aligned(64)));
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);  // a handler of the kernel may come here too
  struct iovec set = {whole, sizeof whole};
  long result = call(PTRACE_GETREGSET, process, address, &set);
  if (result == 0) {
    memcpy(whole, given->iov_base, given->iov_len < set.iov_len ? given->iov_len : set.iov_len);
    result = call(PTRACE_SETREGSET, process, address, &set);
  }
  const int error = errno;
  sigprocmask(SIG_SETMASK, &before, NULL);
  errno = error;
  return result;
}

long ptrace(enum __ptrace_request request, ...) {
  va_list rest;
  va_start(rest, request);
  const long process = va_arg(rest, int);
  void* const address = va_arg(rest, void*);
  void* const more = va_arg(rest, void*);
  va_end(rest);
  if (request == PTRACE_SETREGSET && (long)address == NT_X86_XSTATE) return set_whole(process, address, more);
  if (request != PTRACE_PEEKTEXT && request != PTRACE_PEEKDATA && request != PTRACE_PEEKUSER)
    return call(request, process, address, more);
  long value = 0;
  const long result = call(request, process, address, &value);
  return result < 0 ? result : value;
}
