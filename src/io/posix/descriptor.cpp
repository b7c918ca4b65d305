// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/posix/descriptor.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "io/posix/transfer.hpp"

namespace millrace::io {

Result<Fd> duplicate(int file) {
  if (file < 0) return Fd();
  Fd copy(fcntl(file, F_DUPFD_CLOEXEC, 0));
  if (!copy.valid()) return Status::from_errno(errno);
  return copy;
}

Result<Fd> reopen_direct(const Fd& file) {
#ifdef STATX_DIOALIGN
  struct statx about {};
  const bool told = ::statx(file.get(), "", AT_EMPTY_PATH, STATX_DIOALIGN, &about) == 0 &&
                    (about.stx_mask & STATX_DIOALIGN) != 0;
  const auto fits = [](std::uint32_t align) { return align != 0 && direct_alignment % align == 0; };
  if (told && !(fits(about.stx_dio_mem_align) && fits(about.stx_dio_offset_align)))
    return Status::from_errno(EINVAL);
#endif
  const int flags = fcntl(file.get(), F_GETFL);
  if (flags < 0) return Status::from_errno(errno);
  // Keeps only the access mode. O_APPEND would move positional writes to the end.
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  Fd direct(open(path.c_str(), (flags & O_ACCMODE) | O_DIRECT | O_CLOEXEC));
  if (!direct.valid()) return Status::from_errno(errno);
  return direct;
}

Result<Fd> open_to_read_again(const Fd& file) {
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  Fd opened(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!opened.valid()) return Status::from_errno(errno);
  return opened;
}

Result<std::size_t> read_at(const Fd& file, std::uint64_t offset, std::span<std::byte> into) {
  Request request{Op::read, 0, offset, 0, {{into.data(), into.size()}}, 0};
  const Completion done = carry_out(file.get(), request, Cache::used);
  if (!done.status.ok()) return done.status;
  return static_cast<std::size_t>(done.bytes);
}

Result<std::uint64_t> size_of(const Fd& file) {
  struct stat about = {};
  if (fstat(file.get(), &about) != 0) return Status::from_errno(errno);
  return static_cast<std::uint64_t>(about.st_size);
}

Status resize(const Fd& file, std::uint64_t bytes) {
  int result = -1;
  do {
    result = ftruncate(file.get(), static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  return result == 0 ? Status() : Status::from_errno(errno);
}

Result<std::uint64_t> free_bytes(const Fd& file) {
  struct statvfs about = {};
  if (fstatvfs(file.get(), &about) != 0) return Status::from_errno(errno);
  return std::uint64_t{about.f_bavail} * about.f_frsize;
}

Status reserve(const Fd& file, std::uint64_t offset, std::uint64_t bytes) {
  int result = -1;
  do {
    result =
        ::fallocate(file.get(), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  if (result != 0 && (errno == EOPNOTSUPP || errno == ENOSYS)) return Code::unsupported;
  return result == 0 ? Status() : Status::from_errno(errno);
}

Result<Fd> open_to_change(const char* path) {
  Fd file(open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return Status::from_errno(errno);
  return file;
}

Result<Fd> open_to_read(const char* path) {
  Fd file(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return Status::from_errno(errno);
  return file;
}

}  // namespace millrace::io
