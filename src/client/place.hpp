// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/fd.hpp"
#include "base/file_identity.hpp"
#include "base/result.hpp"

namespace millrace::client {

// Where an open file is. It is opened again at its first write: which file that is is fixed before, wherever
// the program goes meanwhile and whatever the name means later. A descriptor of it is held, for nothing but
// its place (O_PATH): to close such a one takes no fcntl lock away from the process, as to close any other
// does. Half of the descriptors that a process may have stay the program's: beyond, the name has to do, and
// where the file system tells no more of a file than its inode number, a new file with it passes for the old.
class Place {
 public:
  // False: there is no such file. `named`: once it has no name any more, it is not opened again.
  bool remember(const std::string& path, bool named = true);
  // ... without a descriptor: its number alone.
  bool number_of(const std::string& path);

  // Opens it as the descriptor that is held from now on. False, and errno set, if it cannot be opened,
  // has no name any more, or took a descriptor that the program may need.
  bool hold_open(int mode);
  const Fd& held() const { return file_; }  // not valid: none
  bool holds_open() const { return open_; }
  int readable() const;  // ... for reading and writing; -1: it does not

  // Not valid, and errno set, if it cannot be opened or has no name any more.
  Fd open_again(int mode) const;

  const std::string& path() const { return path_; }
  // A name that means this file for as long as it is held.
  std::string lasting_path() const;
  std::uint64_t number() const { return number_; }  // transport::file_number()
  std::uint64_t inode() const { return identity_.inode; }

 private:
  void name(const std::string& path);
  bool is(const Result<FileIdentity>& identity);

  std::string path_;
  Fd file_;
  bool open_ = false;  // not for its place only
  bool named_ = true;
  std::uint64_t number_ = 0;
  FileIdentity identity_;
};

}  // namespace millrace::client
