// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/posix/identity.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include <cerrno>
#include <cstddef>
#include <string_view>

#include "base/checksum.hpp"
#include "base/file_system.hpp"

namespace millrace::io {

namespace {

constexpr const char* mark_name = "user.millrace.file";
// A FUSE file system gives its files new inode numbers at each mount, or more often. Its handles change with
// the numbers.
constexpr std::uint32_t fuse = 0x65735546;

// An open file without a path, or a path.
struct Spot {
  int file;
  const char* path;
  bool open;
};

bool may_be_fuse(const Spot& spot, std::uint64_t device) {
  const std::string system = file_system_of(device);
  if (!system.empty()) return is_fuse_type(std::string_view(system).substr(0, system.find(' ')));
  const std::uint32_t type = spot.open ? type_of_file_system(spot.file) : type_of_file_system(spot.path);
  return type == 0 || type == fuse;
}

std::uint64_t handle_of(const Spot& spot, std::uint64_t device) {
  if (may_be_fuse(spot, device)) return 0;
  alignas(file_handle) std::byte memory[sizeof(file_handle) + MAX_HANDLE_SZ] = {};
  auto* const handle = reinterpret_cast<file_handle*>(memory);
  handle->handle_bytes = MAX_HANDLE_SZ;
  int mount = 0;
  const int flags = spot.open ? AT_EMPTY_PATH : AT_SYMLINK_FOLLOW;
  if (::name_to_handle_at(spot.file, spot.path, handle, &mount, flags) != 0) return 0;
  const auto seed = static_cast<std::uint64_t>(static_cast<unsigned>(handle->handle_type));
  const std::uint64_t sum = checksum(handle->f_handle, handle->handle_bytes, seed);
  return sum != 0 ? sum : 1;
}

std::uint64_t mark_of(const Spot& spot) {
  std::uint64_t mark = 0;
  const ssize_t size = spot.open ? ::fgetxattr(spot.file, mark_name, &mark, sizeof mark)
                                 : ::getxattr(spot.path, mark_name, &mark, sizeof mark);
  if (size == static_cast<ssize_t>(sizeof mark)) return mark;
  return size < 0 && errno != ENODATA ? 0 : unmarked;
}

// `remembered`: asks no server. The kernel remembers all but the mark.
Result<FileIdentity> look(const Spot& spot, bool remembered = false) {
  struct statx about {};
  const int flags = (spot.open ? AT_EMPTY_PATH : 0) | (remembered ? AT_STATX_DONT_SYNC : 0);
  if (::statx(spot.file, spot.path, flags, STATX_INO | STATX_BTIME, &about) != 0)
    return Status::from_errno(errno);
  FileIdentity identity;
  identity.device = makedev(about.stx_dev_major, about.stx_dev_minor);
  identity.inode = about.stx_ino;
  if ((about.stx_mask & STATX_BTIME) != 0)
    identity.birth_ns =
        static_cast<std::uint64_t>(about.stx_btime.tv_sec) * 1'000'000'000 + about.stx_btime.tv_nsec;
  identity.handle = handle_of(spot, identity.device);
  if (!remembered && identity.birth_ns == 0 && identity.handle == 0) identity.mark = mark_of(spot);
  return identity;
}

}  // namespace

Result<FileIdentity> identify(const std::string& path) { return look({AT_FDCWD, path.c_str(), false}); }

Result<FileIdentity> identify(const Fd& file, bool for_good) {
  Result<FileIdentity> identity = look({file.get(), "", true});
  if (identity && identity->mark == unmarked && for_good) identity->mark = set_mark(file);
  return identity;
}

Result<FileState> state_of(const Fd& file) { return state_of(file.get()); }

Result<FileState> state_of(int file) {
  struct stat about {};
  if (::fstat(file, &about) != 0) return Status::from_errno(errno);
  const auto ns = [](const timespec& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
  };
  return FileState{static_cast<std::uint64_t>(about.st_size), ns(about.st_mtim), ns(about.st_ctim)};
}
Result<FileIdentity> recognise(const Fd& file) { return look({file.get(), "", true}, true); }

std::uint64_t mark_of(const Fd& file) { return mark_of(Spot{file.get(), "", true}); }

std::uint64_t set_mark(const Fd& file) {
  std::uint64_t mark = mark_of(file);
  if (mark != unmarked) return mark;
  while (mark <= unmarked) {
    if (::getrandom(&mark, sizeof mark, 0) != static_cast<ssize_t>(sizeof mark)) return 0;
  }
  if (::fsetxattr(file.get(), mark_name, &mark, sizeof mark, XATTR_CREATE) == 0) return mark;
  // With EEXIST, another process has marked the file meanwhile.
  mark = errno == EEXIST ? mark_of(file) : 0;
  return mark != unmarked ? mark : 0;
}

}  // namespace millrace::io
