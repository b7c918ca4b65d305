// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// device DRIVER SEED STEPS: a random sequence of transfers whose memory is a device's, or with DRIVER "host"
// the host's. Results go to stdout, and the files stay: both have to be the same. DRIVER is the fake
// driver or a real one. With FAIL=N the N-th call of the fake driver from a write on fails, and the N-th from
// a read on. A repeated call then transfers all bytes, once.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../gpu.h"
#include "staging/testing/fake_cuda.h"

enum { largest = 5 << 20, host_part = 5000 };

static uint64_t state;
static unsigned rnd(unsigned below) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return below == 0 ? 0 : (unsigned)((state >> 11) % below);
}

// The memory as the program's calls get it, and as its bytes can be looked at.
static char *memory, *bytes;
static char host[2 * host_part];
static int step;

static void say(const char* what, long result) {
  printf("%d %s %ld %s\n", step, what, result, result == -1 ? strerrorname_np(errno) : "");
}

static void set_up(const char* path) {
  if (strcmp(path, "host") == 0) {
    memory = bytes = calloc(1, largest);
    return;
  }
  if (!gpu_open(path, largest, (unsigned)(state % gpu_kinds), state)) exit(2);
  memory = gpu_memory;
  bytes = gpu_bytes;
}

static void fill(char* into, size_t size) {
  uint32_t x = (uint32_t)rnd(1u << 30);
  for (size_t i = 0; i < size; i++) {
    x = x * 1664525U + 1013904223U;
    into[i] = (char)(x >> 24);
  }
  gpu_upload(into, size);
}

static long sum(const char* from, size_t size) {
  uint32_t h = 2166136261U;
  gpu_download(from, size);
  for (size_t i = 0; i < size; i++) h = (h ^ (unsigned char)from[i]) * 16777619U;
  return (long)h;
}

static size_t some_size(void) {
  static const size_t edges[] = {1, 4096, 65536, 262144, 2 << 20, 3 << 20};
  return rnd(3) == 0 ? edges[rnd(6)] + rnd(2) : rnd(2) ? 1 + rnd(30000) : 1 + rnd(largest / 2);
}

// Host and device memory by turns.
static int some_pieces(struct iovec* v, int writing) {
  int count = 1 + (int)rnd(4);
  size_t at = 0;
  if (writing) fill(host, sizeof host);
  for (int i = 0, h = 0; i < count; i++) {
    size_t n = some_size() / 4;
    if (h < 2 && rnd(2)) {
      v[i] = (struct iovec){host + host_part * h++, rnd(host_part)};
    } else {
      v[i] = (struct iovec){memory + at, n};
      at += n;
    }
  }
  return count;
}

static void do_file(int fd) {
  struct iovec v[4];
  size_t n = some_size(), skip = rnd(2) ? 0 : rnd(1000);
  long got;
  switch (rnd(8)) {
    case 0:
      fill(bytes + skip, n);
      say("pwrite", pwrite(fd, memory + skip, n, rnd(1 << 20)));
      break;
    case 1:
      fill(bytes, largest);
      int count = some_pieces(v, 1);
      say("writev", rnd(2) ? writev(fd, v, count) : pwritev(fd, v, count, rnd(1 << 20)));
      break;
    case 2:
      say("seek", lseek(fd, rnd(4 << 20), SEEK_SET));
      got = read(fd, memory + skip, n);
      say("read", got);
      say("sum", sum(bytes, largest));
      break;
    case 3:
      say("pread", pread(fd, memory + skip, n, rnd(2 << 20)));
      say("sum", sum(bytes, largest));
      break;
    case 4:
      count = some_pieces(v, 0);
      say("readv",
          rnd(2) ? preadv(fd, v, count, rnd(1 << 20)) : (lseek(fd, 0, SEEK_SET), readv(fd, v, count)));
      say("sum", sum(bytes, largest) ^ sum(host, sizeof host));
      break;
    case 5:
      say(rnd(2) ? "fsync" : "fdatasync", fsync(fd));
      break;
    default:
      fill(bytes + skip, n);
      say("write", write(fd, memory + skip, n));
  }
  say("tell", lseek(fd, 0, SEEK_CUR));
}

// A write contains the kernel's result although the program has not waited for the kernel.
static void do_kernel(int fd) {
  size_t n = some_size(), at = rnd(1000);
  unsigned way = rnd(3);
  fill(bytes, largest);
  gpu_change(bytes, at, n, way);
  say("write of what a kernel left", write(fd, memory, at + n));
  gpu_change(bytes, 0, at + n, way);  // and memory is filled when it has finished
  say("pread over what a kernel left", pread(fd, memory, at + n, rnd(1 << 20)));
  say("sum", sum(bytes, largest));
}

static void do_stream(void) {
  static const char* const modes[] = {"w", "a", "w+", "r+", "r"};
  FILE* f = fopen("stream.dat", modes[rnd(5)]);
  if (f == NULL) return;
  if (rnd(3) == 0) setvbuf(f, NULL, rnd(2) ? _IOFBF : _IONBF, 100000);
  for (int i = 0; i < 5; i++) {
    size_t n = some_size(), item = rnd(2) ? 1 : 1 + rnd(700);
    switch (rnd(4)) {
      case 0:
        say("fseek", fseek(f, rnd(1 << 20), SEEK_SET));
        break;
      case 1:
        fseek(f, 0, SEEK_CUR);
        say("fread", (long)fread(memory, item, n / item, f));
        say("ends", feof(f) * 2 + ferror(f));
        say("sum", sum(bytes, largest));
        fseek(f, 0, SEEK_CUR);
        clearerr(f);
        break;
      case 2:
        say("fprintf", fprintf(f, "%d\n", step));
        break;
      default:
        fill(bytes, n);
        say("fwrite", (long)fwrite(memory, item, n / item, f));
        say("error", ferror(f));
        clearerr(f);
    }
    say("ftell", ftell(f));
  }
  say("fclose", fclose(f));
}

// All of it comes through, in order, however it is cut; and the end is seen.
static void do_pipe(void) {
  int ends[2];
  if ((rnd(2) ? pipe(ends) : socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) != 0) exit(2);
  size_t n = some_size();
  pid_t child = fork();
  if (child == 0) {
    close(ends[1]);
    static char some[100000];
    uint32_t h = 0;
    for (ssize_t got; (got = read(ends[0], some, sizeof some)) > 0;) {
      for (ssize_t i = 0; i < got; i++) h = h * 31 + (unsigned char)some[i];
    }
    int out = open("pipe.dat", O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (write(out, &h, sizeof h) != sizeof h) _exit(1);
    _exit(0);
  }
  close(ends[0]);
  fill(bytes, n);
  say("to a pipe", write(ends[1], memory, n));
  close(ends[1]);
  int status = -1;
  waitpid(child, &status, 0);
  say("child", status);
  if (pipe(ends) != 0) exit(2);
  fill(host, 3000);
  say("fed", write(ends[1], host, 3000));
  say("less than asked for", read(ends[0], memory, largest));
  say("sum", sum(bytes, largest));
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  say("nothing there", read(ends[0], memory, 100));
  close(ends[1]);
  say("end", read(ends[0], memory, 100));
  close(ends[0]);
}

static int with_fault(unsigned n) {
  enum { size = 3 << 20 };
  static const int errors[] = {2, 719, 999};  // no memory, a kernel failed, unknown
  void (*fail_at)(uint64_t, int) = gpu_function("fake_cuda_fail_at");
  uint64_t (*calls)(void) = gpu_function("fake_cuda_calls");
  int wrong = 0;
  fill(bytes, size);
  long expected = sum(bytes, size);
  int fd = open("fault.dat", O_RDWR | O_CREAT | O_TRUNC, 0644);
  for (int round = 0; round < 2; round++) {
    fail_at(calls() + n, errors[n % 3]);
    size_t done = 0;
    for (int tries = 0; done < size && tries < 200; tries++) {
      ssize_t moved =
          round == 0 ? write(fd, memory + done, size - done) : read(fd, memory + done, size - done);
      if (moved < 0 && errno != EIO && errno != EFAULT && errno != ENOMEM && errno != EINTR) wrong = errno;
      if (moved > 0) done += (size_t)moved;
    }
    if (done != size || lseek(fd, 0, SEEK_CUR) != size) wrong |= 1 << 10;
    lseek(fd, 0, SEEK_SET);
    if (round == 0) memset(bytes, 0, size);
  }
  fake_cuda_live live;
  ((void (*)(fake_cuda_live*))gpu_function("fake_cuda_get_live"))(&live);
  if (sum(bytes, size) != expected) wrong |= 1 << 11;
  if (live.misuse || live.stale) wrong |= 1 << 12;
  if (live.pushed != 1 || live.allocations != 1 || live.registrations > 1 || live.streams > 1)
    wrong |= 1 << 13;
  printf("%d %llu\n", wrong, (unsigned long long)calls());
  return wrong != 0;
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  state = strtoull(argv[2], NULL, 10) * 0x9E3779B97F4A7C15ULL + 88172645463325252ULL;
  FILE* early = fopen("early.dat", "w+");  // before there is a driver
  set_up(argv[1]);
  if (getenv("FAIL") != NULL) return with_fault((unsigned)atoi(getenv("FAIL")));
  fill(bytes, 50000);
  say("fwrite", (long)fwrite(memory, 1, 50000, early));
  fclose(early);
  int fd = open("file.dat", O_RDWR | O_CREAT | (rnd(4) == 0 ? O_APPEND : 0), 0644);
  int steps = atoi(argv[3]);
  for (step = 0; step < steps; step++) {
    unsigned which = rnd(11);
    if (which < 6) {
      do_file(fd);
    } else if (which < 9) {
      do_stream();
    } else if (which < 10) {
      do_pipe();
    } else {
      do_kernel(fd);
    }
  }
  void* volatile nowhere = (void*)8;
  int ends[2];
  if (pipe(ends) == 0) say("no memory at all", write(ends[1], nowhere, 10));
  say("close", close(fd));
  return 0;
}
