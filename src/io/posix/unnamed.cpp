// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/posix/unnamed.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

namespace millrace::io {

Result<Fd> create_unnamed(const char* directory) {
  Fd file(::open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file.valid()) return file;
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL) return Status::from_errno(errno);
  // On a file system without O_TMPFILE, the file has a name for a short time.
  std::string name = std::string(directory) + "/millrace-XXXXXX";
  file.reset(::mkostemp(name.data(), O_CLOEXEC));
  if (!file.valid() || ::unlink(name.c_str()) != 0) return Status::from_errno(errno);
  return file;
}

}  // namespace millrace::io
