/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Writes a file from all ranks, goes on after errors, and tells each: "error RANK CALL CLASS". The ranks'
 * pieces alternate; a piece holds pattern() of its offset. At piece STOP it says "at RANK PID" and waits for
 * the file GO, or with term for SIGTERM; with hold, after that call, for the file HELD. A GAP is left behind
 * every piece. With progress, the time at which the write of piece i returned (CLOCK_MONOTONIC, ns) is word i
 * of the file PROGRESS.RANK, and a pause follows. "wrote RANK N": so many calls returned well. At the end:
 * "closed RANK CLASS", "end". ADD is added to each byte. Then all of that for the file SECOND, 1 MiB and
 * without a stop, after the first one was deleted: "second error ...". With late, rank 1 begins to write so
 * much later; with opens_late, it opens the file so much later. With free, SECOND is opened when N
 * descriptors are free. With again, all pieces are written once more, without ADD, before the sync. With
 * exits, SIGTERM calls exit(), and the MPI library is asked for MPI_THREAD_MULTIPLE.
 *
 * usage: victim FILE [piece=BYTES] [gap=BYTES] [pieces=N] [stop=I go=GO [term=1]]
 *                    [hold=write|sync|close held=HELD] [sync=1] [fatal=1] [late=MILLISECONDS]
 *                    [opens_late=MILLISECONDS] [add=ADD [again=1]] [progress=PROGRESS pause=MICROSECONDS]
 *                    [second=SECOND [free=N]] [exits=1]
 *        victim FILE read=BYTES    only reads, and says whether what it finds is right */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static int rank, nranks;
static volatile sig_atomic_t terminated;
static const char* which = ""; /* before the lines about the second file */

static const char* option(int argc, char** argv, const char* name, const char* otherwise) {
  const size_t size = strlen(name);
  for (int i = 2; i < argc; ++i) {
    if (strncmp(argv[i], name, size) == 0 && argv[i][size] == '=') return argv[i] + size + 1;
  }
  return otherwise;
}

static const char* name_of(int error) {
  int value = MPI_ERR_UNKNOWN;
  if (error == MPI_SUCCESS) return "MPI_SUCCESS";
  MPI_Error_class(error, &value);
#define NAME(x) \
  if (value == x) return #x
  NAME(MPI_ERR_IO);
  NAME(MPI_ERR_NO_SPACE);
  NAME(MPI_ERR_READ_ONLY);
  NAME(MPI_ERR_ACCESS);
  NAME(MPI_ERR_NO_SUCH_FILE);
  NAME(MPI_ERR_QUOTA);
  NAME(MPI_ERR_OTHER);
  NAME(MPI_ERR_FILE_IN_USE);
#undef NAME
  return "another class";
}

static int tell(const char* call, int error) {
  if (error != MPI_SUCCESS) printf("%serror %d %s %s\n", which, rank, call, name_of(error));
  fflush(stdout);
  return error;
}

static void note_signal(int number) {
  (void)number;
  terminated = 1;
}

static void exit_at_signal(int number) {
  (void)number;
  exit(0);
}

static void wait_for(const char* go) {
  printf("at %d %d\n", rank, (int)getpid());
  fflush(stdout);
  while (access(go, F_OK) != 0 && !terminated) usleep(10000);
}

/* A file in the page cache, which outlives whoever writes to it. */
static uint64_t* map_progress(const char* name, long pieces) {
  char path[4096];
  if (name == NULL) return NULL;
  snprintf(path, sizeof path, "%s.%d", name, rank);
  const size_t size = (size_t)pieces * sizeof(uint64_t);
  const int file = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, (off_t)size) != 0) MPI_Abort(MPI_COMM_WORLD, 3);
  void* times = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (times == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 3);
  return times;
}

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int write_pieces(MPI_File fh, long pieces, int add, int argc, char** argv) {
  const long piece = atol(option(argc, argv, "piece", "1024"));
  const long step = piece + atol(option(argc, argv, "gap", "0"));
  const long stop = atol(option(argc, argv, "stop", "-1"));
  const unsigned pause = (unsigned)atol(option(argc, argv, "pause", "0"));
  uint64_t* times = map_progress(option(argc, argv, "progress", NULL), pieces);
  unsigned char* data = malloc((size_t)piece);
  int error = MPI_SUCCESS;
  long i = 0;
  for (; i < pieces; ++i) {
    const MPI_Offset offset = (MPI_Offset)(i * nranks + rank) * step;
    if (i == stop) wait_for(option(argc, argv, "go", "go"));
    for (long j = 0; j < piece; ++j) data[j] = (unsigned char)((offset + j) * 7 + ((offset + j) >> 10) + add);
    error = tell("write", MPI_File_write_at(fh, offset, data, (int)piece, MPI_BYTE, MPI_STATUS_IGNORE));
    if (error != MPI_SUCCESS) break;
    if (times == NULL) continue;
    times[i] = now_ns();
    usleep(pause);
  }
  printf("wrote %d %ld\n", rank, i);
  free(data);
  return error;
}

static void leave_free(int descriptors) {
  int* const taken = calloc(65536, sizeof *taken);
  int count = 0;
  while (count < 65536 && (taken[count] = dup(0)) >= 0) ++count;
  while (descriptors-- > 0 && count > 0) close(taken[--count]);
  free(taken);
}

static void write_file(const char* path, int argc, char** argv) {
  const long pieces = atol(option(argc, argv, "pieces", "1024"));
  MPI_File fh;
  if (rank == 1) usleep((unsigned)atol(option(argc, argv, "opens_late", "0")) * 1000);
  int error = MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh);
  if (tell("open", error) != MPI_SUCCESS) return;
  if (option(argc, argv, "fatal", NULL) != NULL) MPI_File_set_errhandler(fh, MPI_ERRORS_ARE_FATAL);
  if (rank == 1) usleep((unsigned)atol(option(argc, argv, "late", "0")) * 1000);
  write_pieces(fh, pieces, atoi(option(argc, argv, "add", "0")), argc, argv);
  const char* hold = option(argc, argv, "hold", "");
  if (strcmp(hold, "write") == 0) wait_for(option(argc, argv, "held", "held"));
  if (option(argc, argv, "again", NULL) != NULL) write_pieces(fh, pieces, 0, argc, argv);
  if (option(argc, argv, "sync", NULL) != NULL) tell("sync", MPI_File_sync(fh));
  if (strcmp(hold, "sync") == 0) wait_for(option(argc, argv, "held", "held"));
  error = tell("close", MPI_File_close(&fh));
  printf("%sclosed %d %s\n", which, rank, name_of(error));
  fflush(stdout);
  if (strcmp(hold, "close") == 0) wait_for(option(argc, argv, "held", "held"));
}

static void read_file(const char* path, long bytes) {
  MPI_File fh;
  unsigned char* data = calloc(1, (size_t)bytes);
  long bad = 0;
  int error = MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh);
  if (tell("open", error) != MPI_SUCCESS) return;
  tell("read", MPI_File_read_at(fh, 0, data, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE));
  for (long j = 0; j < bytes; ++j) bad += data[j] != (unsigned char)(j * 7 + (j >> 10));
  printf(bad == 0 ? "read right\n" : "read %ld wrong bytes\n", bad);
  fflush(stdout);
  tell("close", MPI_File_close(&fh));
  free(data);
}

int main(int argc, char** argv) {
  const int exits = option(argc, argv, "exits", NULL) != NULL;
  int level;
  MPI_Init_thread(&argc, &argv, exits ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  if (exits) signal(SIGTERM, exit_at_signal);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &nranks);
  if (argc < 2) MPI_Abort(MPI_COMM_WORLD, 2);
  if (option(argc, argv, "term", NULL) != NULL) signal(SIGTERM, note_signal);
  const long to_read = atol(option(argc, argv, "read", "0"));
  if (to_read > 0) {
    read_file(argv[1], to_read);
    return MPI_Finalize();
  }
  write_file(argv[1], argc, argv);
  const char* second = option(argc, argv, "second", NULL);
  if (second != NULL) {
    /* Room for it: the first one goes. Only the name of the file changes, and nobody stops any more. */
    char* words[] = {argv[0], argv[1], "pieces=512", "piece=1024"};
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) tell("delete", MPI_File_delete(argv[1], MPI_INFO_NULL));
    MPI_Barrier(MPI_COMM_WORLD);
    which = "second ";
    if (option(argc, argv, "free", NULL) != NULL) leave_free(atoi(option(argc, argv, "free", "")));
    MPI_Barrier(MPI_COMM_WORLD);
    write_file(second, 4, words);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("end\n");
  fflush(stdout);
  return MPI_Finalize();
}
