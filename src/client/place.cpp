// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/place.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

#include "io/posix/identity.hpp"
#include "transport/layout.hpp"

namespace millrace::client {

namespace {

bool leaves_room(const Fd& file) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) != 0 || static_cast<rlim_t>(file.get()) < limit.rlim_cur / 2;
}

}  // namespace

bool Place::number_of(const std::string& path) {
  path_ = path;
  char folder[PATH_MAX];
  if (!path_.starts_with('/') && ::getcwd(folder, sizeof folder) != nullptr)
    path_ = std::string(folder) + "/" + path_;
  const Result<FileIdentity> identity = io::identify(path_);
  if (!identity) return false;
  identity_ = *identity;
  number_ = transport::file_number(identity_.device, identity_.inode);
  return true;
}

bool Place::remember(const std::string& path, bool named) {
  named_ = named;
  if (!number_of(path)) return false;
  Fd file(::open(path.c_str(), O_PATH | O_CLOEXEC));
  const Result<FileIdentity> identity = file.valid() ? io::identify(file, false) : Code::not_found;
  if (!identity || !leaves_room(file)) return true;  // the name has to do
  file_ = std::move(file);
  identity_ = *identity;
  number_ = transport::file_number(identity_.device, identity_.inode);
  return true;
}

std::string Place::lasting_path() const {
  return file_.valid() ? "/proc/self/fd/" + std::to_string(file_.get()) : path_;
}

bool Place::hold_open(int mode) {
  Fd file = open_again(mode);
  if (!file.valid()) return false;
  if (!leaves_room(file)) {
    errno = EMFILE;
    return false;
  }
  file_ = std::move(file);
  open_ = true;
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
  if (!file.valid()) return {};
  const Result<FileIdentity> identity = io::identify(file, false);
  if (identity && same_file(identity_, *identity) != Sameness::other) return file;
  errno = identity ? ENOENT : identity.status().error();
  return {};
}

}  // namespace millrace::client
