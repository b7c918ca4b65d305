/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Runs a command as containers do whose filter refuses io_uring: its three system calls fail with ERRNO.
 *
 * usage: no_uring EPERM|ENOSYS COMMAND...    status 99: the filter does not work here */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int error = strcmp(argv[1], "ENOSYS") == 0 ? ENOSYS : EPERM;
  struct sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, SYS_io_uring_setup, 0, 2),
      BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, SYS_io_uring_register, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog filter = {sizeof rules / sizeof rules[0], rules};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    perror("no_uring");
    return 99;
  }
  if (syscall(SYS_io_uring_setup, 1, NULL) != -1 || errno != error) return 99;
  execvp(argv[2], argv + 2);
  perror(argv[2]);
  return 127;
}
