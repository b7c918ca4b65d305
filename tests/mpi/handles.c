/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Several handles of one file in one process and in several, under several names: each reads what any of them
 * wrote before, and of two writes the later one stays. The stock library's answers are the right ones.
 * usage: handles DIRECTORY */
#define _GNU_SOURCE
#include "handles.h"

#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

/* --- One process --- */

static void test_reader_that_was_there_before(void) {
  const char* path = name_of(0, "reader_first", 1);
  make_empty(path);
  MPI_File reader = open_as(MPI_COMM_SELF, path, MPI_MODE_RDONLY);
  MPI_File writer = open_as(MPI_COMM_SELF, path, MPI_MODE_RDWR);
  put(writer, 0, bytes, 'a');
  EXPECT(has(reader, 0, bytes, 'a'));
  put(writer, bytes, bytes, 'b');
  EXPECT(size_of(reader) == 2 * bytes);
  put(writer, 2 * bytes, bytes, 'c');
  CHECK(MPI_File_seek(reader, -bytes, MPI_SEEK_END));
  char last[bytes], shared[bytes];
  CHECK(MPI_File_read(reader, last, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
  EXPECT(last[0] == 'c' && last[bytes - 1] == 'c');
  put(writer, 0, bytes, 'd');
  CHECK(MPI_File_read_shared(reader, shared, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
  EXPECT(shared[0] == 'd');
  put(writer, 0, bytes, 'e');
  MPI_Request request;
  CHECK(MPI_File_iread_at(reader, 0, last, bytes, MPI_BYTE, &request));
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT(last[0] == 'e');
  put(writer, 0, bytes, 'f');
  CHECK(MPI_File_read_at_all_begin(reader, 0, last, bytes, MPI_BYTE));
  CHECK(MPI_File_read_at_all_end(reader, last, MPI_STATUS_IGNORE));
  EXPECT(last[0] == 'f');
  CHECK(MPI_File_close(&reader));
  CHECK(MPI_File_close(&writer));
  passed("reader_that_was_there_before");
}

static void test_links(void) {
  const char* path = name_of(0, "links", 1);
  const char* hard = name_of(1, "links_hard", 1);
  const char* soft = name_of(2, "links_soft", 1);
  make_empty(path);
  EXPECT(link(path, hard) == 0);
  EXPECT(symlink(path, soft) == 0);
  MPI_File writer = open_as(MPI_COMM_SELF, path, MPI_MODE_RDWR);
  MPI_File by_link = open_as(MPI_COMM_SELF, hard, MPI_MODE_RDONLY);
  put(writer, 0, bytes, 'a');
  EXPECT(has(by_link, 0, bytes, 'a'));
  MPI_File by_name = open_as(MPI_COMM_SELF, soft, MPI_MODE_RDONLY);
  put(writer, 0, bytes, 'b');
  EXPECT(has(by_name, 0, bytes, 'b'));
  CHECK(MPI_File_close(&by_link));
  CHECK(MPI_File_close(&by_name));
  CHECK(MPI_File_close(&writer));
  EXPECT(unlink(soft) == 0); /* what it names differs from run to run */
  passed("links");
}

/* ROMIO takes "ufs:" off a name, OMPIO does not. A file that really has this name changes neither. Which file
 * the bytes are in is compared with the stock library's run. */
static void test_prefix(void) {
  char back[4096], name[64], plain[64];
  EXPECT(getcwd(back, sizeof back) != NULL && chdir(directory) == 0);
  snprintf(name, sizeof name, "ufs:prefix.%d", rank);
  snprintf(plain, sizeof plain, "prefix.%d", rank);
  make_empty(name);
  make_empty(plain);
  MPI_File fh = open_as(MPI_COMM_SELF, name, MPI_MODE_RDWR);
  for (int at = 0; at < 8 * bytes; at += bytes) put(fh, at, bytes, 'a');
  EXPECT(has(fh, 0, 8 * bytes, 'a'));
  CHECK(MPI_File_close(&fh));
  EXPECT(chdir(back) == 0);
  passed("prefix");
}

static void test_rename(void) {
  const char* path = name_of(0, "rename", 1);
  const char* moved = name_of(1, "rename_moved", 1);
  make_empty(path);
  MPI_File reader = open_as(MPI_COMM_SELF, path, MPI_MODE_RDONLY);
  MPI_File writer = open_as(MPI_COMM_SELF, path, MPI_MODE_RDWR);
  put(writer, 0, bytes, 'a');
  EXPECT(rename(path, moved) == 0);
  make_empty(path); /* the old name means another file */
  EXPECT(has(reader, 0, bytes, 'a'));
  put(writer, bytes, bytes, 'b');
  MPI_File again = open_as(MPI_COMM_SELF, moved, MPI_MODE_RDONLY);
  EXPECT(has(again, bytes, bytes, 'b'));
  put(writer, 0, bytes, 'c');
  EXPECT(has(again, 0, bytes, 'c'));
  EXPECT(has(reader, 0, bytes, 'c'));
  CHECK(MPI_File_close(&again));
  CHECK(MPI_File_close(&reader));
  CHECK(MPI_File_close(&writer));
  passed("rename");
}

/* The first write comes after the file has got another name. */
static void test_rename_before_writing(void) {
  const char* path = name_of(0, "early", 1);
  const char* moved = name_of(1, "early_moved", 1);
  make_empty(path);
  MPI_File reader = open_as(MPI_COMM_SELF, path, MPI_MODE_RDONLY);
  MPI_File writer = open_as(MPI_COMM_SELF, path, MPI_MODE_RDWR);
  MPI_File second = open_as(MPI_COMM_SELF, path, MPI_MODE_RDWR);
  EXPECT(rename(path, moved) == 0);
  put(writer, 0, bytes, 'a');
  EXPECT(has(reader, 0, bytes, 'a'));
  EXPECT(has(second, 0, bytes, 'a'));
  put(second, 0, bytes, 'b');
  EXPECT(has(writer, 0, bytes, 'b'));
  CHECK(MPI_File_close(&reader));
  CHECK(MPI_File_close(&second));
  CHECK(MPI_File_close(&writer));
  passed("rename_before_writing");
}

/* Of two handles that write the same bytes, however large the calls are. */
static void test_two_writers(void) {
  const char* path = name_of(0, "writers", 1);
  make_empty(path);
  MPI_File first = open_as(MPI_COMM_SELF, path, MPI_MODE_RDWR);
  MPI_File second = open_as(MPI_COMM_SELF, path, MPI_MODE_RDWR);
  put(first, 0, bytes, 'a');
  put(second, 0, bytes, 'b');
  EXPECT(has(first, 0, bytes, 'b'));
  put(first, 0, bytes, 'c');
  put(second, 0, big, 'd');
  EXPECT(has(first, 0, bytes, 'd'));
  put(second, 10, bytes, 'e');
  put(first, 0, big, 'f');
  put(second, big - 10, bytes, 'g');
  CHECK(MPI_File_close(&first));
  MPI_File last = open_as(MPI_COMM_SELF, path, MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL);
  char data[bytes];
  memset(data, 'h', bytes);
  put(second, 0, bytes / 2, 'i');
  CHECK(MPI_File_write_shared(last, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE)); /* the library's alone */
  EXPECT(has(second, 0, bytes, 'h'));
  CHECK(MPI_File_close(&last));
  CHECK(MPI_File_close(&second));
  passed("two_writers");
}

/* --- Several processes --- */

static void test_readers_of_what_others_write(void) {
  const char* path = name_of(0, "others", 0);
  if (rank == 0) make_empty(path);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File reader = open_as(MPI_COMM_WORLD, path, MPI_MODE_RDONLY);
  MPI_File alone = open_as(MPI_COMM_SELF, path, MPI_MODE_RDONLY);
  MPI_File writer = open_as(MPI_COMM_WORLD, path, MPI_MODE_RDWR);
  MPI_File own = MPI_FILE_NULL;
  for (int round = 0; round < nranks; ++round) {
    if (rank == round) put(writer, round * bytes, bytes, 'a' + round);
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT(has(reader, round * bytes, bytes, 'a' + round));
    EXPECT(has(alone, round * bytes, bytes, 'a' + round));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == round) {
      own = open_as(MPI_COMM_SELF, path, MPI_MODE_RDWR);
      put(own, round * bytes, bytes, 'A' + round);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT(has(reader, round * bytes, bytes, 'A' + round));
    EXPECT(has(writer, round * bytes, bytes, 'A' + round));
    EXPECT(size_of(alone) == (round + 1) * bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    if (own != MPI_FILE_NULL) CHECK(MPI_File_close(&own));
  }
  CHECK(MPI_File_close(&reader));
  CHECK(MPI_File_close(&alone));
  CHECK(MPI_File_close(&writer));
  passed("readers_of_what_others_write");
}

/* --- Locks of fcntl(2): closing any descriptor of a file takes them from the process --- */

/* Behind all that is read and written: OMPIO of Open MPI 5 locks and unlocks that itself. */
enum { lock_at = 1 << 30 };

static int still_locked(int fd) {
  const pid_t child = fork();
  if (child == 0) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = lock_at, .l_len = 1};
    _exit(fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK ? 1 : 0);
  }
  int status = 0;
  EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status));
  return WEXITSTATUS(status);
}

static void lock(int fd) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = lock_at, .l_len = 1};
  EXPECT(fcntl(fd, F_SETLK, &lock) == 0);
}

static void test_locks(void) {
  const char* path = name_of(0, "locks", 1);
  make_empty(path);
  MPI_File writer = open_as(MPI_COMM_SELF, path, MPI_MODE_RDWR);
  const int fd = open(path, O_RDWR);
  lock(fd);
  EXPECT(still_locked(fd));
  put(writer, 0, bytes, 'a');
  EXPECT(still_locked(fd));
  EXPECT(has(writer, 0, bytes, 'a'));
  EXPECT(still_locked(fd));
  MPI_File reader = open_as(MPI_COMM_SELF, path, MPI_MODE_RDONLY);
  const int after_open = still_locked(fd); /* not so in every library */
  lock(fd);
  put(writer, bytes, bytes, 'b');
  EXPECT(has(reader, bytes, bytes, 'b'));
  EXPECT(still_locked(fd));
  MPI_File second = open_as(MPI_COMM_SELF, path, MPI_MODE_RDWR);
  const int after_second = still_locked(fd);
  lock(fd);
  put(second, bytes, bytes, 'c');
  EXPECT(has(reader, bytes, bytes, 'c'));
  CHECK(MPI_File_sync(second));
  EXPECT(still_locked(fd));
  CHECK(MPI_File_close(&reader));
  const int after_close = still_locked(fd);
  if (rank == 0) printf("answer locks %d %d %d\n", after_open, after_second, after_close);
  CHECK(MPI_File_close(&second));
  CHECK(MPI_File_close(&writer));
  close(fd);
  passed("locks");
}

/* --- Descriptors, where libc's functions are hooked too --- */

static long size_by_fstat(int fd) {
  struct stat about;
  EXPECT(fstat(fd, &about) == 0);
  return (long)about.st_size;
}

static long size_by_name(const char* path) {
  struct stat about;
  EXPECT(stat(path, &about) == 0);
  return (long)about.st_size;
}

static void test_descriptors(void) {
  const char* path = name_of(0, "posix", 1);
  const char* hard = name_of(1, "posix_hard", 1);
  const char* moved = name_of(2, "posix_moved", 1);
  make_empty(path);
  EXPECT(link(path, hard) == 0);
  char data[4 * bytes];
  const int fd = open(path, O_RDWR);
  FILE* stream = fopen(hard, "r");
  MPI_File writer = open_as(MPI_COMM_SELF, path, MPI_MODE_RDWR);
  put(writer, 0, bytes, 'a');
  EXPECT(read(fd, data, 2 * bytes) == bytes && data[0] == 'a' && data[bytes - 1] == 'a');
  put(writer, 0, bytes, 'b');
  EXPECT(pread(fd, data, bytes, 0) == bytes && data[0] == 'b');
  put(writer, bytes, bytes, 'c');
  EXPECT(lseek(fd, 0, SEEK_END) == 2 * bytes);
  put(writer, 2 * bytes, bytes, 'd');
  EXPECT(size_by_fstat(fd) == 3 * bytes);
  put(writer, 3 * bytes, bytes, 'e');
  EXPECT(size_by_name(hard) == 4 * bytes);
  put(writer, 0, bytes, 'f');
  struct iovec pieces[2] = {{data, bytes}, {data + bytes, bytes}};
  EXPECT(preadv(fd, pieces, 2, 0) == 2 * bytes && data[0] == 'f' && data[bytes] == 'c');
  put(writer, 0, bytes, 'g');
  EXPECT(lseek(fd, 0, SEEK_SET) == 0 && readv(fd, pieces, 2) == 2 * bytes && data[0] == 'g');
  put(writer, 0, bytes, 'h');
  EXPECT(fread(data, 1, bytes, stream) == bytes && data[0] == 'h');
  EXPECT(rename(path, moved) == 0);
  put(writer, 0, bytes, 'i');
  EXPECT(pread(fd, data, bytes, 0) == bytes && data[0] == 'i');
  const int again = open(moved, O_RDONLY);
  put(writer, 0, bytes, 'j');
  EXPECT(pread(again, data, bytes, 0) == bytes && data[0] == 'j');
  /* The later write stays. */
  put(writer, 0, bytes, 'k');
  memset(data, 'l', bytes);
  EXPECT(pwrite(fd, data, bytes, 10) == bytes);
  put(writer, 20, 10, 'm');
  EXPECT(lseek(fd, 25, SEEK_SET) == 25 && write(fd, "nn", 2) == 2);
  CHECK(MPI_File_close(&writer));
  EXPECT(pread(again, data, bytes, 0) == bytes && data[9] == 'k' && data[10] == 'l' && data[20] == 'm');
  EXPECT(data[25] == 'n' && data[27] == 'm');
  fclose(stream);
  close(again);
  close(fd);
  passed("descriptors");
}

/* Bytes that are pending when an open truncates the file do not come back. */
static void test_truncation(void) {
  const char* path = name_of(0, "posix_truncated", 1);
  for (int way = 0; way < 4; ++way) {
    make_empty(path);
    MPI_File writer = open_as(MPI_COMM_SELF, path, MPI_MODE_RDWR);
    put(writer, 0, many, 'a');
    FILE* stream = NULL;
    if (way == 0) stream = fdopen(open(path, O_WRONLY | O_TRUNC), "w");
    if (way == 1) stream = fdopen(creat(path, 0644), "w");
    if (way == 2) stream = fopen(path, "w");
    if (way == 3) stream = freopen(path, "w", fopen(path, "r"));
    EXPECT(stream != NULL && fputs("0123456789", stream) >= 0);
    EXPECT(fclose(stream) == 0);
    CHECK(MPI_File_close(&writer));
    EXPECT(size_by_name(path) == 10);
  }
  passed("truncation");
}

static void test_descriptors_of_others(void) {
  const char* path = name_of(0, "posix_others", 0);
  if (rank == 0) make_empty(path);
  MPI_Barrier(MPI_COMM_WORLD);
  const int fd = open(path, O_RDONLY);
  MPI_File writer = open_as(MPI_COMM_WORLD, path, MPI_MODE_RDWR);
  for (int round = 0; round < nranks; ++round) {
    char data[bytes];
    if (rank == round) put(writer, round * bytes, bytes, 'a' + round);
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT(pread(fd, data, bytes, round * bytes) == bytes && data[0] == 'a' + round);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  CHECK(MPI_File_close(&writer));
  close(fd);
  passed("descriptors_of_others");
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  directory = argv[1];
  MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
  if (argc > 2 && strcmp(argv[2], "posix") == 0) {
    test_descriptors();
    test_truncation();
    test_descriptors_of_others();
    return finish();
  }
  test_reader_that_was_there_before();
  test_links();
  test_prefix();
  test_rename();
  test_rename_before_writing();
  test_two_writers();
  if (argc > 2) test_readers_of_what_others_write(); /* not without an agent */
  test_locks();
  return finish();
}
