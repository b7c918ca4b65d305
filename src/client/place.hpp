// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/fd.hpp"
#include "base/file_identity.hpp"

namespace millrace::client {

// Where an open file is. It is opened again, by its name, at its first write: what the name means is fixed
// before that, wherever the program goes meanwhile and whatever the name means later. Where the file system
// tells no more of a file than its inode number, a new file with that number passes for it.
class Place {
 public:
  // False: there is no such file.
  bool remember(const std::string& path);

  // Not valid, and errno set, if it cannot be opened or the name means another file by now.
  Fd open_again(int mode) const;

  const std::string& path() const { return path_; }
  std::uint64_t number() const { return number_; }  // transport::file_number()

 private:
  std::string path_;
  std::uint64_t number_ = 0;
  FileIdentity identity_;
};

}  // namespace millrace::client
