// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/posix/descriptor.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <string>

namespace millrace::io {

Result<Fd> duplicate(const Fd& file) {
  if (!file.valid()) return Fd();
  Fd copy(fcntl(file.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy.valid()) return Status::from_errno(errno);
  return copy;
}

Result<Fd> reopen_direct(const Fd& file) {
  const int flags = fcntl(file.get(), F_GETFL);
  if (flags < 0) return Status::from_errno(errno);
  // Only the access mode is kept: O_APPEND would move positional writes to the end.
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  Fd direct(open(path.c_str(), (flags & O_ACCMODE) | O_DIRECT | O_CLOEXEC));
  if (!direct.valid()) return Status::from_errno(errno);
  return direct;
}

Result<Fd> memory_file() {
  Fd file(memfd_create("millrace", MFD_CLOEXEC));
  if (!file.valid()) return Status::from_errno(errno);
  return file;
}

}  // namespace millrace::io
