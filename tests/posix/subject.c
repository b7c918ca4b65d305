// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// subject SEED STEPS: a random sequence of file operations in the working directory. Results go to stdout;
// the files stay. With and without the preload both have to be the same.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { fds = 4, streams = 2, files = 4, largest = 7 << 20 };

static uint64_t state;
static unsigned rnd(unsigned below) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return below == 0 ? 0 : (unsigned)((state >> 11) % below);
}

static char *buffer, *second;
static int fd[fds];
static FILE* stream[streams];
static unsigned filled;
static int step;

static void say(const char* what, long result) {
  char line[160];
  int n = snprintf(line, sizeof line, "%d %s %ld %s\n", step, what, result,
                   result == -1 ? strerrorname_np(errno) : "");
  if (write(STDOUT_FILENO, line, (size_t)n) != n) _exit(9);
}

static const char* name_of(unsigned i) {
  static const char* const names[files] = {"a.dat", "b.dat", "c.log", "d.dat"};
  return names[i];
}

// Sizes at which something changes: buffers of stdio, pieces, steps.
static size_t some_size(void) {
  static const size_t edges[] = {4096, 65536, 131072, 262144, 1 << 20, 2 << 20, 4 << 20};
  switch (rnd(8)) {
    case 0:
      return rnd(16);
    case 1:
      return edges[rnd(7)] + rnd(3) - 1;
    case 2:
      return rnd(largest);
    case 3:
      return rnd(300000);
    default:
      return rnd(20000);
  }
}

static void fill(char* into, size_t size) {
  uint32_t x = ++filled * 2654435761U;
  for (size_t i = 0; i < size; i++) {
    x = x * 1664525U + 1013904223U;
    into[i] = (char)(x >> 24);
  }
}

static long sum(const char* from, size_t size) {
  uint32_t h = 2166136261U;
  for (size_t i = 0; i < size; i++) h = (h ^ (unsigned char)from[i]) * 16777619U;
  return (long)h;
}

static void do_open(unsigned i) {
  static const int modes[] = {
      O_RDWR,   O_RDWR | O_CREAT,          O_RDWR | O_CREAT | O_TRUNC,    O_WRONLY | O_CREAT,
      O_RDONLY, O_RDWR | O_CREAT | O_EXCL, O_WRONLY | O_APPEND | O_CREAT, O_WRONLY | O_CREAT | O_TRUNC};
  if (fd[i] >= 0) say("close", close(fd[i]));
  fd[i] = open(name_of(rnd(files)), modes[rnd(8)], 0644);
  say("open", fd[i] >= 0 ? 0 : -1);
}

static void do_write(unsigned i) {
  size_t n = some_size();
  fill(buffer, n);
  switch (rnd(5)) {
    case 0:
      say("pwrite", pwrite(fd[i], buffer, n, rnd(1 << 20)));
      break;
    case 1: {
      struct iovec v[3] = {
          {buffer, n / 3}, {buffer + n / 3, n / 2}, {buffer + n / 3 + n / 2, n - n / 3 - n / 2}};
      if (rnd(2)) {
        say("writev", writev(fd[i], v, 3));
      } else {
        say("pwritev", pwritev(fd[i], v, 3, rnd(1 << 20)));
      }
      break;
    }
    default:
      say("write", write(fd[i], buffer, n));
  }
}

static void do_read(unsigned i) {
  size_t n = some_size();
  ssize_t got;
  switch (rnd(3)) {
    case 0:
      got = pread(fd[i], second, n, rnd(1 << 21));
      break;
    case 1: {
      struct iovec v[2] = {{second, n / 2}, {second + n / 2, n - n / 2}};
      got = readv(fd[i], v, 2);
      break;
    }
    default:
      got = read(fd[i], second, n);
  }
  say("read", got);
  if (got > 0) say("sum", sum(second, (size_t)got));
}

static void do_place(unsigned i) {
  struct stat about;
  switch (rnd(6)) {
    case 0:
      say("lseek set", lseek(fd[i], rnd(1 << 22), SEEK_SET));
      break;
    case 1:
      say("lseek cur", lseek(fd[i], (long)rnd(4096) - 2048, SEEK_CUR));
      break;
    case 2:
      say("lseek end", lseek(fd[i], -(long)rnd(10000), SEEK_END));
      break;
    case 3:
      say("fstat", fstat(fd[i], &about) == 0 ? about.st_size : -1);
      break;
    case 4:
      say("stat", stat(name_of(rnd(files)), &about) == 0 ? about.st_size : -1);
      break;
    default:
      say("tell", lseek(fd[i], 0, SEEK_CUR));
  }
}

static void do_mapped(unsigned i) {
  struct stat about;
  if (fd[i] < 0 || fstat(fd[i], &about) != 0 || about.st_size == 0) return;
  void* at = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_SHARED, fd[i], 0);
  say("mmap", at == MAP_FAILED ? -1 : sum(at, (size_t)about.st_size));
  if (at != MAP_FAILED) munmap(at, (size_t)about.st_size);
}

// A child that shares the offset writes and reads too.
static void do_fork(unsigned i) {
  pid_t child = fork();
  if (child == 0) {
    step += 100000;
    do_write(i);
    do_read(i);
    rnd(2) ? exit(0) : _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  say("child", status);
  fill(buffer, 1);
}

// Threads at once: each at its own place, then all at the shared offset with the same bytes.
struct part {
  int fd;
  size_t size;
  off_t at;
  long moved;
};
static void* write_part(void* opaque) {
  struct part* p = opaque;
  p->moved = 0;
  for (size_t done = 0, n; done < p->size; done += n) {
    n = p->size - done < 70000 ? p->size - done : 70000;
    if (pwrite(p->fd, buffer + p->at + done, n, p->at + (off_t)done) == (ssize_t)n) p->moved += (long)n;
  }
  for (int k = 0; k < 3; k++) p->moved += write(p->fd, buffer, 66000);
  return NULL;
}

static void do_threads(unsigned i) {
  enum { count = 3 };
  pthread_t threads[count];
  struct part parts[count];
  size_t n = 1000 + rnd(400000);
  if (fd[i] < 0 || (fcntl(fd[i], F_GETFL) & O_APPEND) != 0) return;
  fill(buffer, n * count + 66000);
  long end = lseek(fd[i], (off_t)(n * count), SEEK_SET), moved = 0;
  for (unsigned k = 0; k < count; k++) {
    parts[k] = (struct part){fd[i], n, (off_t)(k * n), 0};
    if (pthread_create(&threads[k], NULL, write_part, &parts[k]) != 0) _exit(7);
  }
  for (unsigned k = 0; k < count; k++) {
    pthread_join(threads[k], NULL);
    moved += parts[k].moved;
  }
  say("threads", moved);
  say("their end", lseek(fd[i], 0, SEEK_CUR) - end);
}

static void do_change(unsigned i) {
  unsigned other = rnd(fds);
  switch (rnd(12)) {
    case 0:
      say("fsync", fsync(fd[i]));
      break;
    case 1:
      say("fdatasync", fdatasync(fd[i]));
      break;
    case 2:
      say("ftruncate", ftruncate(fd[i], rnd(3 << 20)));
      break;
    case 3:
      say("truncate", truncate(name_of(rnd(files)), rnd(3 << 20)));
      break;
    case 4:
      say("rename", rename(name_of(rnd(files)), name_of(rnd(files))));
      break;
    case 5:
      say("unlink", unlink(name_of(rnd(files))));
      break;
    case 6:
      if (other != i && fd[i] >= 0 && fd[other] >= 0)
        say("dup2", dup2(fd[i], fd[other]) == fd[other] ? 0 : -1);
      break;
    case 7:
      if (other != i && fd[i] >= 0 && fd[other] >= 0) {
        close(fd[other]);
        fd[other] = dup(fd[i]);
        say("dup", fd[other] >= 0 ? 0 : -1);
      }
      break;
    case 8:
      do_mapped(i);
      break;
    case 9:
    case 10:
      do_threads(i);
      break;
    default:
      do_fork(i);
  }
}

static void do_stream(unsigned i) {
  static const char* const modes[] = {"w", "r", "r+", "w+", "a", "a+", "w", "w"};
  FILE* f = stream[i];
  size_t n = some_size();
  if (f == NULL || rnd(12) == 0) {
    if (f != NULL) say("fclose", fclose(f));
    stream[i] = f = fopen(name_of(rnd(files)), modes[rnd(8)]);
    say("fopen", f != NULL ? 0 : -1);
    if (f != NULL && rnd(3) == 0) setvbuf(f, NULL, rnd(2) ? _IOFBF : _IONBF, rnd(2) ? 524288 : 100);
    return;
  }
  switch (rnd(9)) {
    case 0:
      say("fseek", fseek(f, rnd(1 << 21), SEEK_SET));
      break;
    case 1:
      say("ftell", ftell(f));
      break;
    case 2:
      say("fflush", fflush(f));
      break;
    case 3:
      fseek(f, 0, SEEK_CUR);
      n = fread(second, 1, n, f);
      say("fread", (long)n);
      say("sum", sum(second, n));
      say("feof", feof(f) != 0);
      say("ferror", ferror(f) != 0);
      fseek(f, 0, SEEK_CUR);
      clearerr(f);
      break;
    case 4:
      fseek(f, -(long)rnd(1000), SEEK_END);
      break;
    case 5:
      say("fprintf", fprintf(f, "%d of %s\n", step, "some text"));
      break;
    default:
      fill(buffer, n);
      say("fwrite", (long)(rnd(2) ? fwrite(buffer, 1, n, f) : fwrite(buffer, 8, n / 8, f)));
      say("ferror", ferror(f) != 0);
      clearerr(f);
  }
}

// A handler that interrupts anything, and writes too.
static int pipes[2];
static void on_signal(int number) {
  int error = errno;
  (void)number;
  if (write(pipes[1], "x", 1) != 1) _exit(8);
  errno = error;
}

static void drain_pipe(void) {
  char some[4096];
  while (read(pipes[0], some, sizeof some) == (ssize_t)sizeof some) {
  }
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  state = strtoull(argv[1], NULL, 10) * 0x9E3779B97F4A7C15ULL + 88172645463325252ULL;
  buffer = malloc(largest + 8);
  second = malloc(largest + 8);
  if (buffer == NULL || second == NULL || pipe2(pipes, O_NONBLOCK) != 0) return 2;
  memset(second, 0, largest + 8);
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  sigaction(SIGUSR1, &action, NULL);
  for (int i = 0; i < fds; i++) fd[i] = -1;
  int steps = atoi(argv[2]);
  for (step = 0; step < steps; step++) {
    unsigned i = rnd(fds);
    switch (rnd(10)) {
      case 0:
        do_open(i);
        break;
      case 1:
      case 2:
      case 3:
        do_write(i);
        break;
      case 4:
        do_read(i);
        break;
      case 5:
        do_place(i);
        break;
      case 6:
        do_change(i);
        break;
      case 7:
        raise(SIGUSR1);
        drain_pipe();
        break;
      default:
        do_stream(rnd(streams));
    }
  }
  if (rnd(2)) {
    for (int i = 0; i < streams; i++) {
      if (stream[i] != NULL) say("fclose", fclose(stream[i]));
    }
    for (int i = 0; i < fds; i++) {
      if (fd[i] >= 0) say("close", close(fd[i]));
    }
  }
  return 0;
}
