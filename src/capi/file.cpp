// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "capi/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "capi/library.hpp"
#include "staging/cuda/find.hpp"

namespace millrace::capi {

namespace {

using staging::FileEnd;
using staging::MemoryRange;
using staging::Moved;

bool is_regular(int fd) {
  struct stat about {};
  return ::fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
}

Outcome outcome_of(std::int64_t result) { return result < 0 ? Outcome::failed(errno) : Outcome(result); }

FileEnd end_of(int fd, std::optional<std::uint64_t> offset, std::uint64_t done) {
  return offset ? FileEnd(fd, *offset + done, calls) : FileEnd(fd, calls);
}

// Moves one part, at most the bytes of one system call.
Moved move_part(const MemoryRange& range, std::uint64_t done, FileEnd& end, bool reads) {
  const std::uint64_t bytes = std::min(range.bytes - done, staging::request_max);
  staging::Pool& pool = Library::get().pool;
  if (range.device != nullptr)
    return reads ? pool.read(*range.device, end, range.at + done, bytes)
                 : pool.write(*range.device, range.at + done, bytes, end);
  const std::span<std::byte> part(range.here() + done, bytes);
  const ssize_t some = reads ? end.read(part) : end.write(part);
  if (some < 0) return {0, Status::from_errno(static_cast<int>(-some))};
  return {static_cast<std::uint64_t>(some), {}};
}

// Moves all bytes, or the bytes before an error or the end of the file. With `whole`, repeats the system call
// after a short count.
Outcome move_all(MemoryRange range, int fd, std::optional<std::uint64_t> offset, bool reads, bool whole) {
  std::uint64_t done = 0;
  while (done < range.bytes) {
    const std::uint64_t part = std::min(range.bytes - done, staging::request_max);
    FileEnd end = end_of(fd, offset, done);
    const Moved some = move_part(range, done, end, reads);
    done += some.bytes;
    if (some.status.ok()) {
      if (some.bytes == 0 || (some.bytes < part && !whole)) break;
      continue;
    }
    if (some.status.error() == EINTR && (done == 0 || whole)) continue;
    if (done > 0) break;
    // The host's system calls refuse memory of a device. The program may have passed such memory without
    // naming the device.
    if (some.status.error() != EFAULT || range.device != nullptr)
      return {some.status,
              some.status.error() == EIO && range.device != nullptr ? range.device->explain() : ""};
    range.device = staging::cuda::device_of(range.here());
    if (range.device == nullptr) return some.status;
  }
  return static_cast<std::int64_t>(done);
}

}  // namespace

bool fits_file(std::uint64_t bytes, std::uint64_t offset) {
  return bytes <= INT64_MAX && offset <= INT64_MAX - bytes;
}

std::shared_ptr<OwnedFile> OwnedFile::open(const char* path, int flags, unsigned permissions,
                                           Outcome& outcome) {
  constexpr int known = MILLRACE_READ | MILLRACE_WRITE | MILLRACE_CREATE | MILLRACE_TRUNCATE |
                        MILLRACE_EXCLUSIVE | MILLRACE_APPEND;
  const bool reads = (flags & MILLRACE_READ) != 0;
  const bool writes = (flags & MILLRACE_WRITE) != 0;
  const bool creates = (flags & MILLRACE_CREATE) != 0;
  const bool changes = (flags & (MILLRACE_CREATE | MILLRACE_TRUNCATE | MILLRACE_APPEND)) != 0;
  if ((flags & ~known) != 0 || !(reads || writes) || (changes && !writes) ||
      ((flags & MILLRACE_EXCLUSIVE) != 0 && !creates)) {
    outcome = Outcome::failed(EINVAL,
                              "flags need READ or WRITE; CREATE, TRUNCATE and APPEND need WRITE, "
                              "EXCLUSIVE needs CREATE");
    return nullptr;
  }
  int how = O_CLOEXEC | (reads && writes ? O_RDWR : (writes ? O_WRONLY : O_RDONLY));
  if (creates) how |= O_CREAT;
  if ((flags & MILLRACE_TRUNCATE) != 0) how |= O_TRUNC;
  if ((flags & MILLRACE_EXCLUSIVE) != 0) how |= O_EXCL;
  if ((flags & MILLRACE_APPEND) != 0) how |= O_APPEND;
  Fd fd;
  do {
    fd.reset(::open(path, how, permissions));
  } while (!fd.valid() && errno == EINTR);
  if (!fd.valid()) {
    const int error = errno;
    outcome = Outcome::failed(error, std::string("'") + path + "'");
    return nullptr;
  }
  return std::make_shared<OwnedFile>(std::move(fd));
}

OwnedFile::OwnedFile(Fd fd) : fd_(std::move(fd)), regular_(is_regular(fd_.get())) {}

Outcome OwnedFile::write(const HeldMemory& from, std::optional<std::uint64_t> offset) const {
  return move_all(from.range, fd_.get(), offset, false, true);
}

Outcome OwnedFile::read(const HeldMemory& to, std::optional<std::uint64_t> offset) const {
  return move_all(to.range, fd_.get(), offset, true, regular_);
}

Outcome OwnedFile::seek(std::int64_t offset, int whence) const {
  const int known = whence == MILLRACE_SET ? SEEK_SET : (whence == MILLRACE_CURRENT ? SEEK_CUR : SEEK_END);
  if (whence < MILLRACE_SET || whence > MILLRACE_END) return Outcome::failed(EINVAL, "no such whence");
  return outcome_of(::lseek(fd_.get(), offset, known));
}

Outcome OwnedFile::size() const {
  struct stat about {};
  if (::fstat(fd_.get(), &about) != 0) return Outcome::failed(errno);
  return S_ISREG(about.st_mode) ? Outcome(about.st_size)
                                : Outcome::failed(ESPIPE, "only regular files have a size");
}

Outcome OwnedFile::truncate(std::uint64_t bytes) const {
  if (bytes > INT64_MAX) return Outcome::failed(EFBIG);
  int result = 0;
  do {
    result = ::ftruncate(fd_.get(), static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  return outcome_of(result);
}

Outcome OwnedFile::sync() const {
  int result = 0;
  do {
    result = ::fdatasync(fd_.get());
  } while (result != 0 && errno == EINTR);
  Outcome outcome = outcome_of(result);
  synced(fd_.get());
  return outcome;
}

Outcome OwnedFile::close() {
  const int fd = fd_.release();
  // Linux closes the descriptor even if close(2) fails. EINTR says nothing about the file.
  return fd >= 0 && ::close(fd) != 0 && errno != EINTR ? Outcome::failed(errno) : Outcome();
}

}  // namespace millrace::capi
