// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
//
// The engine's system calls. They use the real functions, never the hooks.
#include <dirent.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>

#include <cerrno>
#include <cstring>

#include "base/setting_table.hpp"
#include "front/posix/hook.hpp"
#include "front/posix/real.hpp"

namespace millrace::front {
namespace {

bool regular(int fd) {
  struct stat about;
  return real::fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
}

bool identify(int fd, plain::FileId* id) {
  struct stat about;
  if (real::fstat(fd, &about) != 0) return false;
  *id = {about.st_dev, about.st_ino};
  return true;
}

bool path_of(int fd, char* path, std::size_t size) {
  char link[32];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = ::readlink(link, path, size - 1);
  if (length <= 0 || path[0] != '/') return false;
  path[length] = 0;
  return true;
}

// True if this process has another descriptor of the file. Also true if /proc cannot be read.
bool open_elsewhere(int fd, plain::FileId id) {
  DIR* folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return true;
  bool found = false;
  while (const dirent* entry = ::readdir(folder)) {
    const int other = std::atoi(entry->d_name);
    plain::FileId its;
    if (entry->d_name[0] == '.' || other == fd || other == ::dirfd(folder)) continue;
    found = found || (identify(other, &its) && its == id);
  }
  ::closedir(folder);
  return found;
}

char* memory(std::size_t bytes) {
  void* at = real::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  (void)::madvise(at, bytes, MADV_HUGEPAGE);
  (void)::madvise(at, bytes, MADV_DONTFORK);
  return static_cast<char*>(at);
}

void install() {
  (void)pthread_atfork([] { engine().behind().before_fork(); }, [] { engine().behind().after_fork(false); },
                       [] { engine().behind().after_fork(true); });
  (void)std::atexit([] { engine().behind().release_all(); });
  (void)std::at_quick_exit([] { engine().behind().release_all(); });
}

bool size_limited() {
  rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

// One write() for the whole line. Ranks on one node share the file, or the folder has a file for each node.
void append_report(char* line, std::size_t bytes) {
  const char* path = std::getenv(setting_variable::stats);
  if (path == nullptr) return;
  constexpr int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC;
  int fd = real::open(path, flags, 0644);
  utsname node;
  char inside[plain::path_max];
  if (fd < 0 && errno == EISDIR && ::uname(&node) == 0) {
    const int length = snprintf(inside, sizeof inside, "%s/%s.jsonl", path, node.nodename);
    if (length > 0 && static_cast<std::size_t>(length) < sizeof inside) fd = real::open(inside, flags, 0644);
  }
  if (fd < 0) return;
  line[bytes] = '\n';
  (void)!real::write(fd, line, bytes + 1);
  real::close(fd);
}

// At exit, after the program's own handlers. Calls of _exit() report nothing.
__attribute__((destructor)) void leave() { engine().leaving(); }

// A copy has no name, so it is opened by its descriptor.
int open_again(int fd, int flags) {
  char link[32];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  return real::open(link, O_RDONLY | O_CLOEXEC | flags, 0);
}

int replace(int fd, int by) {
  const int flags = real::fcntl(fd, F_GETFD);
  return flags < 0 ? -1 : real::dup3(by, fd, (flags & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0);
}

// NFS and FUSE answer fstat from what they remember, so this asks the server.
int about_now(int fd, struct stat* about) {
  struct statx found;
  constexpr unsigned wanted = STATX_BASIC_STATS;
  if (real::statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, wanted, &found) != 0) return -1;
  if ((found.stx_mask & wanted) != wanted) return -1;
  memset(about, 0, sizeof *about);
  about->st_dev = makedev(found.stx_dev_major, found.stx_dev_minor);
  about->st_ino = found.stx_ino;
  about->st_mode = found.stx_mode;
  about->st_uid = found.stx_uid;
  about->st_gid = found.stx_gid;
  about->st_size = static_cast<off_t>(found.stx_size);
  about->st_mtim = {found.stx_mtime.tv_sec, found.stx_mtime.tv_nsec};
  about->st_ctim = {found.stx_ctime.tv_sec, found.stx_ctime.tv_nsec};
  return 0;
}

constexpr plain::Calls calls{
    [](int fd, const void* data, std::size_t bytes, off_t at) { return real::pwrite(fd, data, bytes, at); },
    [](int fd, off_t offset, int whence) { return real::lseek(fd, offset, whence); },
    [](int fd, off_t begin, off_t bytes) {
      return real::sync_file_range(fd, begin, bytes, static_cast<unsigned>(SYNC_FILE_RANGE_WRITE));
    },
    regular,
    [](int fd) { return real::fcntl(fd, F_GETFL); },
    identify,
    path_of,
    open_elsewhere,
    memory,
    install,
    size_limited,
    append_report,
    [](int fd, struct stat* about) { return real::fstat(fd, about); },
    about_now,
    open_again,
    replace,
    [](int fd) { return real::close(fd); },
};

constinit plain::Engine the_engine(calls);
constinit plain::Copies the_copies(calls);

}  // namespace

constinit thread_local bool OutermostHook::busy = false;

plain::Engine& engine() { return the_engine; }
plain::Copies& copies() { return the_copies; }

}  // namespace millrace::front
