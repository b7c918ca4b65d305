/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A FUSE file system over a folder, with faults: usage and faults are in README.md. Every operation looks up
 * its faults in the file FAULTS, so a test can change them at any time. */
#define FUSE_USE_VERSION 31
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

enum { most_files = 256, look_ms = 10 };

static int root;            /* the folder */
static const char* faults;  /* the path of FAULTS */
static FILE* record;        /* of operations; NULL: none */
static uint64_t renumbered; /* added to inode numbers */
static double cache_s;

/* Faults of whole files: by inode number of the folder's file. */
struct state {
  ino_t inode;
  int pending; /* an error that the next flush or fsync tells, once */
  int written; /* since the last flush */
};
static struct state states[most_files];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct handle {
  int fd;
  int direct;
  ino_t inode;
};

static struct handle* handle_of(struct fuse_file_info* info) { return (struct handle*)(uintptr_t)info->fh; }

/* Call it with the lock held. */
static struct state* state_of(ino_t inode) {
  struct state* empty = NULL;
  for (int i = 0; i < most_files; ++i) {
    if (states[i].inode == inode) return &states[i];
    if (states[i].inode == 0 && empty == NULL) empty = &states[i];
  }
  if (empty == NULL) abort();
  empty->inode = inode;
  return empty;
}

/* --- faults --- */

/* The value of `word` in the line of FAULTS for this operation; NULL: there is none. */
static const char* fault(const char* operation, const char* word, char line[256]) {
  FILE* file = fopen(faults, "re");
  const char* found = NULL;
  if (file == NULL) return NULL;
  while (found == NULL && fgets(line, 256, file) != NULL) {
    char* rest = line;
    const char* name = strtok_r(line, " \n", &rest);
    if (name == NULL || strcmp(name, operation) != 0) continue;
    for (char* next = strtok_r(NULL, " \n", &rest); next != NULL; next = strtok_r(NULL, " \n", &rest)) {
      const size_t size = strlen(word);
      if (strncmp(next, word, size) == 0 && (next[size] == '=' || next[size] == 0))
        found = next + size + (next[size] == '=');
    }
  }
  fclose(file);
  return found;
}

static int has(const char* operation, const char* word) {
  char line[256];
  return fault(operation, word, line) != NULL;
}

static long number(const char* operation, const char* word, long otherwise) {
  char line[256];
  const char* value = fault(operation, word, line);
  return value != NULL ? strtol(value, NULL, 0) : otherwise;
}

static int error_of(const char* operation, const char* word) {
  static const struct {
    const char* name;
    int number;
  } errors[] = {{"EIO", EIO},       {"ENOSPC", ENOSPC}, {"EDQUOT", EDQUOT},         {"EACCES", EACCES},
                {"EAGAIN", EAGAIN}, {"EINVAL", EINVAL}, {"EOPNOTSUPP", EOPNOTSUPP}, {"EROFS", EROFS},
                {"ENOSYS", ENOSYS}, {"ENOLCK", ENOLCK}};
  char line[256];
  const char* value = fault(operation, word, line);
  if (value == NULL) return 0;
  for (size_t i = 0; i < sizeof errors / sizeof *errors; ++i) {
    if (strcmp(errors[i].name, value) == 0) return errors[i].number;
  }
  return EIO;
}

static void pause_ms(long ms) {
  const struct timespec rest = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&rest, NULL);
}

/* A line "OPERATION NAME PROCESS main|thread": which thread of which program asks. */
static void note(const char* operation) {
  char path[64], text[4096], name[64] = "?";
  long group = 0;
  const long caller = fuse_get_context()->pid;
  if (record == NULL) return;
  snprintf(path, sizeof path, "/proc/%ld/status", caller);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t size = file >= 0 ? read(file, text, sizeof text - 1) : 0;
  if (file >= 0) close(file);
  text[size > 0 ? size : 0] = 0;
  (void)sscanf(text, "Name: %63s", name);
  const char* at = strstr(text, "\nTgid:");
  if (at != NULL) group = strtol(at + 6, NULL, 10);
  fprintf(record, "%s %s %ld %s\n", operation, name, group, group == caller ? "main" : "thread");
  fflush(record);
}

/* What every operation does first: it may take long, wait until the fault has gone, or fail. */
static int begin(const char* operation) {
  note(operation);
  const long delay = number(operation, "delay", 0);
  if (delay > 0) pause_ms(delay);
  while (has(operation, "stall")) pause_ms(look_ms);
  return -error_of(operation, "error");
}

/* --- names --- */

static const char* below(const char* path) { return path[1] == 0 ? "." : path + 1; }
static int ended(int result) { return result < 0 ? -errno : 0; }

static int do_getattr(const char* path, struct stat* about, struct fuse_file_info* info) {
  const int failed = begin("getattr");
  if (failed != 0) return failed;
  const int result = info != NULL ? fstat(handle_of(info)->fd, about)
                                  : fstatat(root, below(path), about, AT_SYMLINK_NOFOLLOW);
  about->st_ino += renumbered;
  return ended(result);
}

static int do_readdir(const char* path, void* to, fuse_fill_dir_t fill, off_t at, struct fuse_file_info* info,
                      enum fuse_readdir_flags flags) {
  (void)path, (void)to, (void)fill, (void)at, (void)info, (void)flags;
  return 0; /* no test lists a folder */
}

static int do_unlink(const char* path) { return ended(unlinkat(root, below(path), 0)); }
static int do_mkdir(const char* path, mode_t mode) { return ended(mkdirat(root, below(path), mode)); }
static int do_rmdir(const char* path) { return ended(unlinkat(root, below(path), AT_REMOVEDIR)); }
static int do_rename(const char* from, const char* to, unsigned flags) {
  return ended(renameat2(root, below(from), root, below(to), flags));
}
static int do_chmod(const char* path, mode_t mode, struct fuse_file_info* info) {
  (void)info;
  return ended(fchmodat(root, below(path), mode, 0));
}
static int do_chown(const char* path, uid_t user, gid_t group, struct fuse_file_info* info) {
  (void)info;
  return ended(fchownat(root, below(path), user, group, AT_SYMLINK_NOFOLLOW));
}
static int do_utimens(const char* path, const struct timespec times[2], struct fuse_file_info* info) {
  (void)info;
  return ended(utimensat(root, below(path), times, AT_SYMLINK_NOFOLLOW));
}

static int do_truncate(const char* path, off_t size, struct fuse_file_info* info) {
  const int failed = begin("truncate");
  if (failed != 0) return failed;
  if (info != NULL) return ended(ftruncate(handle_of(info)->fd, size));
  const int file = openat(root, below(path), O_WRONLY | O_CLOEXEC);
  const int result = file < 0 ? -errno : ended(ftruncate(file, size));
  if (file >= 0) close(file);
  return result;
}

/* --- files --- */

static int open_file(const char* path, mode_t mode, struct fuse_file_info* info) {
  const int failed = begin("open");
  struct stat about;
  if (failed != 0) return failed;
  const int direct = (info->flags & O_DIRECT) != 0;
  if (direct && has("open", "nodirect")) return -EINVAL;
  const int flags = info->flags & ~(O_DIRECT | O_APPEND);
  const int file = openat(root, below(path), flags | O_CLOEXEC, mode);
  if (file < 0) return -errno;
  struct handle* made = malloc(sizeof *made);
  if (made == NULL || fstat(file, &about) != 0) abort();
  *made = (struct handle){file, direct, about.st_ino};
  info->fh = (uintptr_t)made;
  return 0;
}

static int do_create(const char* path, mode_t mode, struct fuse_file_info* info) {
  info->flags |= O_CREAT;
  return open_file(path, mode, info);
}
static int do_open(const char* path, struct fuse_file_info* info) { return open_file(path, 0, info); }

static int do_read(const char* path, char* to, size_t bytes, off_t at, struct fuse_file_info* info) {
  (void)path;
  const int failed = begin("read");
  if (failed != 0) return failed;
  const ssize_t moved = pread(handle_of(info)->fd, to, bytes, at);
  return moved < 0 ? -errno : (int)moved;
}

static int do_write(const char* path, const char* from, size_t bytes, off_t at, struct fuse_file_info* info) {
  (void)path;
  const struct handle* handle = handle_of(info);
  const int failed = begin("write");
  if (failed != 0) return failed;
  if (handle->direct && has("write", "nodirect")) return -EINVAL;
  const long most = number("write", "short", -1);
  if (most >= 0 && (size_t)most < bytes) bytes = (size_t)most;
  const int late = error_of("write", "late");
  const off_t sound = late != 0 ? number("write", "after", 0) : LONG_MAX;
  pthread_mutex_lock(&lock);
  state_of(handle->inode)->written = 1;
  if (at + (off_t)bytes > sound) state_of(handle->inode)->pending = late;
  pthread_mutex_unlock(&lock);
  /* Bytes behind `sound` are accepted and lost. */
  const size_t kept = at >= sound ? 0 : (size_t)(sound - at) < bytes ? (size_t)(sound - at) : bytes;
  const ssize_t moved = kept > 0 ? pwrite(handle->fd, from, kept, at) : 0;
  return moved < 0 ? -errno : (int)bytes;
}

/* close(2) and fsync(2) tell an error of bytes that were lost, once. */
static int told(const struct handle* handle) {
  pthread_mutex_lock(&lock);
  struct state* state = state_of(handle->inode);
  const int error = state->pending;
  state->pending = state->written = 0;
  pthread_mutex_unlock(&lock);
  return -error;
}

static int do_flush(const char* path, struct fuse_file_info* info) {
  (void)path;
  const struct handle* handle = handle_of(info);
  pthread_mutex_lock(&lock);
  const int written = state_of(handle->inode)->written;
  pthread_mutex_unlock(&lock);
  const int failed = begin(written ? "flush" : "idle_flush");
  const int late = told(handle);
  return failed != 0 ? failed : late;
}

static int do_fsync(const char* path, int data, struct fuse_file_info* info) {
  (void)path, (void)data;
  const int failed = begin("fsync");
  const int late = told(handle_of(info));
  return failed != 0 ? failed : late;
}

static int do_fsyncdir(const char* path, int data, struct fuse_file_info* info) {
  (void)path, (void)data, (void)info;
  return begin("fsyncdir");
}

static int do_release(const char* path, struct fuse_file_info* info) {
  (void)path;
  struct handle* handle = handle_of(info);
  note("release");
  close(handle->fd);
  free(handle);
  return 0;
}

static int do_statfs(const char* path, struct statvfs* about) {
  (void)path;
  const int failed = begin("statfs");
  return failed != 0 ? failed : ended(fstatvfs(root, about));
}

/* Attributes of users are those of the folder's file. The kernel asks for others at each write. */
static int user_attribute(const char* name) { return strncmp(name, "user.", 5) == 0; }

static int do_getxattr(const char* path, const char* name, char* to, size_t bytes) {
  const int failed = begin("getxattr");
  if (failed != 0) return failed;
  if (!user_attribute(name)) return -ENODATA;
  const int file = openat(root, below(path), O_RDONLY | O_CLOEXEC);
  if (file < 0) return -errno;
  const ssize_t size = fgetxattr(file, name, to, bytes);
  const int result = size < 0 ? -errno : (int)size;
  close(file);
  return result;
}

static int do_setxattr(const char* path, const char* name, const char* from, size_t bytes, int flags) {
  const int failed = begin("setxattr");
  if (failed != 0) return failed;
  if (!user_attribute(name)) return -EOPNOTSUPP;
  const int file = openat(root, below(path), O_RDONLY | O_CLOEXEC);
  if (file < 0) return -errno;
  const int result = ended(fsetxattr(file, name, from, bytes, flags));
  close(file);
  return result;
}

static void* start(struct fuse_conn_info* connection, struct fuse_config* config) {
  (void)connection;
  config->use_ino = 1;
  config->hard_remove = 1;
  config->entry_timeout = config->attr_timeout = cache_s;
  return NULL;
}

static const struct fuse_operations operations = {.init = start,
                                                  .getattr = do_getattr,
                                                  .readdir = do_readdir,
                                                  .unlink = do_unlink,
                                                  .mkdir = do_mkdir,
                                                  .rmdir = do_rmdir,
                                                  .rename = do_rename,
                                                  .chmod = do_chmod,
                                                  .chown = do_chown,
                                                  .utimens = do_utimens,
                                                  .truncate = do_truncate,
                                                  .create = do_create,
                                                  .open = do_open,
                                                  .read = do_read,
                                                  .write = do_write,
                                                  .flush = do_flush,
                                                  .fsync = do_fsync,
                                                  .fsyncdir = do_fsyncdir,
                                                  .release = do_release,
                                                  .statfs = do_statfs,
                                                  .getxattr = do_getxattr,
                                                  .setxattr = do_setxattr};

int main(int argc, char** argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: faultfs FOLDER MOUNTPOINT FAULTS [record=FILE] [renumber=N] [cache=SECONDS]\n");
    return 2;
  }
  root = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  faults = argv[3];
  for (int i = 4; i < argc; ++i) {
    if (strncmp(argv[i], "record=", 7) == 0) record = fopen(argv[i] + 7, "ae");
    if (strncmp(argv[i], "renumber=", 9) == 0) renumbered = strtoull(argv[i] + 9, NULL, 10);
    if (strncmp(argv[i], "cache=", 6) == 0) cache_s = strtod(argv[i] + 6, NULL);
  }
  if (root < 0) return 2;
  umask(0);
  char* words[] = {argv[0], "-f", "-o", "fsname=faultfs,subtype=faultfs", argv[2], NULL};
  return fuse_main(5, words, &operations, NULL);
}
