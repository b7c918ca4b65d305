// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/fd.hpp"
#include "base/file_identity.hpp"
#include "base/result.hpp"

namespace millrace::client {

// Remembers which file an open means, until the file is opened again at its first write. The name may mean
// another file by then, and the program may have changed its folder. So the target holds a descriptor with
// O_PATH. A close of such a descriptor drops no fcntl lock of the process; a close of any other descriptor
// does. Half of a process's descriptors stay free for the program. Beyond that, the target keeps only the
// name. Then a new file can pass for the old one, if the file system tells only the inode number and the new
// file has the same number.
class TargetFile {
 public:
  // False: there is no such file. With `named`, a file that has lost its name is not opened again.
  bool remember(const std::string& path, bool named = true);
  // Remembers only the name and the number, for handles that never open the file again.
  bool number_of(const std::string& path);

  // Opens the file and holds that descriptor from now on. False, with errno set, if the file cannot be opened
  // or has no name any more, or if the program may need the descriptor.
  bool hold_open(int mode);
  const Fd& held() const { return file_; }  // not valid: none
  // Closes the held descriptor, and tells the error of close(2).
  Status close() { return open_ = false, file_.close(); }
  bool holds_open() const { return open_; }

  // Not valid, with errno set, if the file cannot be opened or has no name any more.
  Fd open_again(int mode) const;
  // The same, for a descriptor that stays open: not valid if the program may need it.
  Fd open_to_hold(int mode) const;

  // The root folder and the file's own, for reading; not valid if the program may need the descriptors.
  std::array<Fd, 2> open_folders_to_hold() const;

  const std::string& path() const { return path_; }
  // A name that means this file as long as this object has its descriptor.
  std::string lasting_path() const;
  std::uint64_t number() const { return number_; }  // transport::file_number()
  std::uint64_t device() const { return identity_.device; }
  std::uint64_t inode() const { return identity_.inode; }

 private:
  void name(const std::string& path);
  bool is(const Result<FileIdentity>& identity);
  bool number(int file, const char* path, int flags);

  std::string path_;
  Fd file_;
  bool open_ = false;  // not only with O_PATH
  bool named_ = true;
  std::uint64_t number_ = 0;
  FileIdentity identity_;  // with a descriptor: only device and inode
};

}  // namespace millrace::client
