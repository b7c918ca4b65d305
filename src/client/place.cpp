// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/place.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

#include "transport/layout.hpp"

namespace millrace::client {

bool Place::remember(const std::string& path) {
  path_ = path;
  char folder[PATH_MAX];
  if (!path_.starts_with('/') && ::getcwd(folder, sizeof folder) != nullptr)
    path_ = std::string(folder) + "/" + path_;
  struct stat about {};
  if (::stat(path_.c_str(), &about) != 0) return false;
  number_ = transport::file_number(about.st_dev, about.st_ino);
  return true;
}

Fd Place::open_again(int mode) const {
  Fd file(::open(path_.c_str(), mode | O_CLOEXEC));
  struct stat about {};
  if (!file.valid() || ::fstat(file.get(), &about) != 0) return {};
  if (transport::file_number(about.st_dev, about.st_ino) == number_) return file;
  errno = ENOENT;
  return {};
}

}  // namespace millrace::client
