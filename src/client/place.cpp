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

bool Place::number_of(const std::string& path) {
  path_ = path;
  char folder[PATH_MAX];
  if (!path_.starts_with('/') && ::getcwd(folder, sizeof folder) != nullptr)
    path_ = std::string(folder) + "/" + path_;
  struct stat about {};
  if (::stat(path_.c_str(), &about) != 0) return false;
  number_ = transport::file_number(about.st_dev, about.st_ino);
  return true;
}

bool Place::remember(const std::string& path, bool named) {
  named_ = named;
  if (!number_of(path)) return false;
  file_ = Fd(::open(path_.c_str(), O_PATH | O_CLOEXEC));
  struct stat about {};
  if (!file_.valid() || ::fstat(file_.get(), &about) != 0) return true;  // the name has to do
  number_ = transport::file_number(about.st_dev, about.st_ino);
  return true;
}

std::string Place::lasting_path() const {
  return file_.valid() ? "/proc/self/fd/" + std::to_string(file_.get()) : path_;
}

bool Place::hold_open(int mode) {
  Fd file = open_again(mode);
  if (!file.valid()) return false;
  file_ = std::move(file);
  return true;
}

Fd Place::open_again(int mode) const {
  struct stat about {};
  const bool unnamed = file_.valid() && ::fstat(file_.get(), &about) == 0 && about.st_nlink == 0;
  if (named_ && unnamed) {
    errno = ENOENT;
    return {};
  }
  Fd file(::open(lasting_path().c_str(), mode | O_CLOEXEC));
  if (!file.valid() && file_.valid()) file = Fd(::open(path_.c_str(), mode | O_CLOEXEC));  // without /proc
  if (!file.valid() || ::fstat(file.get(), &about) != 0) return {};
  if (transport::file_number(about.st_dev, about.st_ino) == number_) return file;
  errno = ENOENT;
  return {};
}

}  // namespace millrace::client
