// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/place.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

#include "io/posix/identity.hpp"
#include "transport/layout.hpp"

namespace millrace::client {

bool Place::remember(const std::string& path) {
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

Fd Place::open_again(int mode) const {
  Fd file(::open(path_.c_str(), mode | O_CLOEXEC));
  if (!file.valid()) return {};
  const Result<FileIdentity> identity = io::identify(file, false);
  if (identity && same_file(identity_, *identity) != Sameness::other) return file;
  errno = identity ? ENOENT : identity.status().error();
  return {};
}

}  // namespace millrace::client
