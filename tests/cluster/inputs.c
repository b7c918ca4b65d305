/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reads a plain file in every way that libc has, and says what came: lines in FOLDER/reads-RANK, the same
 * whether or not MPI_Init has copied the file to the node. Lines in FOLDER/from-RANK say what each descriptor
 * had open: "copy" or "file".
 *
 * usage: inputs FOLDER FILE [MODE]: see modes[] */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank;
static FILE *out, *from;
static const char* path;
static char data[1 << 16];

static void say(FILE* to, const char* format, ...) {
  va_list words;
  va_start(words, format);
  vfprintf(to, format, words);
  va_end(words);
  fputc('\n', to);
  fflush(to);
}

static uint64_t sum_of(uint64_t sum, const void* bytes, size_t size) {
  for (size_t i = 0; i < size; ++i) sum = (sum ^ ((const unsigned char*)bytes)[i]) * 1099511628211u;
  return sum;
}

static const char* source_of(int fd) {
  char link[64], name[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, name, sizeof name - 1);
  name[length > 0 ? length : 0] = 0;
  return strstr(name, "millrace-stage-") != NULL ? "copy" : "file";
}

static void told(const char* how, int fd, uint64_t sum, long long size) {
  struct stat by_fd, by_name;
  const int same = fstat(fd, &by_fd) == 0 && stat(path, &by_name) == 0 && by_fd.st_ino == by_name.st_ino &&
                   by_fd.st_dev == by_name.st_dev && by_fd.st_mtim.tv_nsec == by_name.st_mtim.tv_nsec;
  say(out, "%s: %lld bytes, sum %llx, size %lld, the same file %d", how, size, (unsigned long long)sum,
      (long long)by_fd.st_size, same);
  say(from, "%s", source_of(fd));
}

static void by_read(const char* how, int flags) {
  const int fd = open(path, flags);
  if (fd < 0) {
    say(out, "%s: %s", how, strerror(errno));
    return;
  }
  uint64_t sum = 14695981039346656037u;
  long long size = 0;
  for (ssize_t got; (got = read(fd, data, sizeof data)) > 0; size += got)
    sum = sum_of(sum, data, (size_t)got);
  told(how, fd, sum, size);
  say(out, "offset %lld, close-on-exec %d", (long long)lseek(fd, 0, SEEK_CUR), fcntl(fd, F_GETFD));
  close(fd);
}

static void by_pread(void) {
  const int fd = openat(AT_FDCWD, path, O_RDONLY);
  uint64_t sum = 14695981039346656037u;
  long long size = 0;
  for (ssize_t got; (got = pread(fd, data, 5000, size)) > 0; size += got)
    sum = sum_of(sum, data, (size_t)got);
  told("pread", fd, sum, size);
  struct iovec parts[] = {{data, 100}, {data + 200, 300}};
  memset(data, 0, sizeof data);
  const ssize_t got = preadv(fd, parts, 2, 77);
  say(out, "preadv %zd, sum %llx", got, (unsigned long long)sum_of(1, data, 500));
  say(out, "write: %zd", write(fd, data, 1));
  close(fd);
}

static void by_mmap(void) {
  struct stat about;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fstat(fd, &about) != 0) say(out, "no fstat");
  void* map = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_SHARED, fd, 0);
  told("mmap", fd, sum_of(14695981039346656037u, map, (size_t)about.st_size), about.st_size);
  munmap(map, (size_t)about.st_size);
  close(fd);
}

static void by_stream(FILE* in, const char* how) {
  uint64_t sum = 14695981039346656037u;
  long long size = 0;
  if (in == NULL) {
    say(out, "%s: %s", how, strerror(errno));
    return;
  }
  for (size_t got; (got = fread(data, 1, 7000, in)) > 0; size += (long long)got) sum = sum_of(sum, data, got);
  told(how, fileno(in), sum, size);
  fseek(in, 100, SEEK_SET);
  say(out, "then %d at %ld", fgetc(in), ftell(in));
}

static void every_way(void) {
  by_read("open", O_RDONLY);
  by_read("open, close-on-exec", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  by_pread();
  by_mmap();
  FILE* in = fopen(path, "r");
  by_stream(in, "fopen");
  in = freopen(path, "rb", in);
  by_stream(in, "freopen");
  fclose(in);
  in = fopen64(path, "re");
  by_stream(in, "fopen64");
  fclose(in);
}

/* Only through open(), so that each mode's line is short. */
static void once(const char* when) { by_read(when, O_RDONLY); }

static void rewrite(const char* text) {
  const int fd = open(path, O_WRONLY);
  if (pwrite(fd, text, strlen(text), 40) != (ssize_t)strlen(text)) printf("FAIL pwrite\n");
  close(fd);
}

static void changed(void) {
  struct stat about;
  once("before");
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    if (stat(path, &about) != 0) printf("FAIL stat\n");
    rewrite("changed");
    const struct timespec times[] = {about.st_atim, about.st_mtim};
    if (utimensat(AT_FDCWD, path, times, 0) != 0) printf("FAIL utimensat\n");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  once("same size, same time");
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0 && truncate(path, 1000) != 0) printf("FAIL truncate\n");
  MPI_Barrier(MPI_COMM_WORLD);
  once("shorter");
}

static void deleted(void) {
  once("before");
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) unlink(path);
  MPI_Barrier(MPI_COMM_WORLD);
  once("after");
  by_stream(fopen(path, "r"), "after, fopen");
}

static void forbidden(void) {
  if (rank == 0 && chmod(path, 0) != 0) printf("FAIL chmod\n");
  MPI_Barrier(MPI_COMM_WORLD);
  if (seteuid(65534) != 0) printf("FAIL seteuid\n");
  const int fd = open(path, O_RDONLY);
  say(out, "forbidden: %d %s", fd >= 0, strerror(errno));
  if (seteuid(0) != 0) printf("FAIL seteuid\n");
}

/* As daemons do. The program then uses the numbers again. */
static void closed(void) {
  const int kept[] = {fileno(out), fileno(from)};
  for (int fd = 400; fd < 1024; ++fd) {
    if (fd != kept[0] && fd != kept[1]) close(fd);
  }
  once("after closing");
  const int other = open("/proc/self/exe", O_RDONLY);
  for (int fd = 400; fd < 1024; ++fd) dup2(other, fd);
  close(other);
  once("after using the numbers again");
  MPI_Barrier(MPI_COMM_WORLD);
  if (fcntl(700, F_GETFD) < 0) printf("FAIL the program's descriptor is gone\n");
}

static void forked(void) {
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    every_way();
    fflush(NULL);
    _exit(0);
  }
  int status = 1;
  if (waitpid(child, &status, 0) != child || status != 0) printf("FAIL child %d\n", status);
  if (system("! ls -l /proc/self/fd | grep -q millrace-stage") != 0) printf("FAIL a copy is inherited\n");
}

static void locked(void) {
  const int fd = open(path, O_RDONLY);
  if (flock(fd, LOCK_SH) != 0) printf("FAIL flock\n");
  once("after a lock");
  close(fd);
}

/* Bytes that wait in the agent are seen by the process that has written them. */
static void by_mpi(void) {
  MPI_File fh;
  MPI_Status status;
  once("before");
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &fh);
  MPI_File_write_at(fh, 64 * rank, "by MPI-IO", 9, MPI_BYTE, &status);
  const int fd = open(path, O_RDONLY);
  if (pread(fd, data, 9, 64 * rank) != 9) printf("FAIL pread\n");
  say(out, "written: %.9s", data);
  close(fd);
  MPI_File_close(&fh);
  MPI_Barrier(MPI_COMM_WORLD);
  once("after");
}

static void finalized(void) {}

static const struct {
  const char* name;
  void (*run)(void);
} modes[] = {{"all", every_way},       {"changed", changed}, {"deleted", deleted},
             {"forbidden", forbidden}, {"closed", closed},   {"forked", forked},
             {"locked", locked},       {"mpi", by_mpi},      {"finalized", finalized}};

int main(int argc, char** argv) {
  char name[4096];
  path = argv[2];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(name, sizeof name, "%s/reads-%d", argv[1], rank);
  out = fopen(name, "w");
  snprintf(name, sizeof name, "%s/from-%d", argv[1], rank);
  from = fopen(name, "w");
  const char* mode = argc > 3 ? argv[3] : "all";
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; ++i) {
    if (strcmp(modes[i].name, mode) == 0) modes[i].run();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("end\n");
  fflush(stdout);
  MPI_Finalize();
  if (strcmp(mode, "finalized") == 0) once("after MPI_Finalize");
  fclose(out);
  fclose(from);
  return 0;
}
