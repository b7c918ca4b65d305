// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/file/refresh.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstdint>

#include "base/checksum.hpp"

namespace millrace::client {

namespace {

constexpr std::uint32_t fuse_magic = 0x65735546;

// A FUSE daemon may remember attributes too (GlusterFS does, for a second). The daemon answers a change, even
// an empty one, with the file's true attributes, and the kernel takes these. False: the user may not change
// the file.
bool make_daemon_ask(const std::string& path) {
  return ::chown(path.c_str(), static_cast<uid_t>(-1), static_cast<gid_t>(-1)) == 0;
}

// statfs() needs an answer of the daemon. So a thread asks only once in a row for files of the same folder,
// if their paths are absolute. An object with a destructor would be gone in exit handlers.
bool on_fuse(const std::string& path) {
  static thread_local std::uint64_t folder = 0;
  static thread_local bool known = false;
  const std::string here = path.substr(0, path.rfind('/') + 1);
  const std::uint64_t number = checksum(here.data(), here.size());
  if (folder == number && here.starts_with('/')) return known;
  struct statfs system {};
  if (::statfs(path.c_str(), &system) != 0) return false;
  folder = number;
  return known = static_cast<std::uint32_t>(system.f_type) == fuse_magic;
}

}  // namespace

// Best effort: a file system that cannot look again reports what it remembers.
void refresh(const std::string& path) {
  if (on_fuse(path) && make_daemon_ask(path)) return;
  struct statx about {};
  (void)::statx(AT_FDCWD, path.c_str(), AT_STATX_FORCE_SYNC, STATX_SIZE | STATX_MTIME, &about);
}

}  // namespace millrace::client
