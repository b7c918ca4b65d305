// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/fd.hpp"
#include "base/file_identity.hpp"
#include "base/result.hpp"

namespace millrace::client {

// Remembers which file an open means, until the file is opened again at its first write. The name may mean
// another file by then, and the program may have changed its folder. So the target holds a descriptor with
// O_PATH. To close such a descriptor drops no fcntl lock of the process; to close any other one does. Half of
// the descriptors that a process may have stay the program's. Beyond that, the target keeps the name only.
// Then, if the file system tells nothing but the inode number, a new file with that number passes for the old
// one.
class TargetFile {
 public:
  // False: there is no such file. `named`: a file that has lost its name is not opened again.
  bool remember(const std::string& path, bool named = true);
  // ... without a descriptor: only its number.
  bool number_of(const std::string& path);

  // Opens the file and holds that descriptor from now on. False, with errno set, if the file cannot be opened
  // or has no name any more, or if the program may need the descriptor.
  bool hold_open(int mode);
  const Fd& held() const { return file_; }  // not valid: none
  bool holds_open() const { return open_; }
  int readable(int mode) const;  // ... if open with O_RDWR, or as `mode` says; else -1

  // Not valid, and errno set, if it cannot be opened or has no name any more.
  Fd open_again(int mode) const;

  const std::string& path() const { return path_; }
  // A name that means this file while this object holds it.
  std::string lasting_path() const;
  std::uint64_t number() const { return number_; }  // transport::file_number()
  std::uint64_t inode() const { return identity_.inode; }

 private:
  void name(const std::string& path);
  bool is(const Result<FileIdentity>& identity);

  std::string path_;
  Fd file_;
  bool open_ = false;  // not only with O_PATH
  bool named_ = true;
  std::uint64_t number_ = 0;
  FileIdentity identity_;
};

}  // namespace millrace::client
