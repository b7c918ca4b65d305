// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "client/open/stage.hpp"

// Inputs: plain files that all ranks read, copied to every node at MPI_Init (setting posix_stage, ADR 25).
// This header has the rank's part that needs no MPI.
namespace millrace::client {

// The stamp, from the file system's server. `about` gets the description of the file on this node.
FileStamp look_at_input(const std::string& path, struct stat& about);

struct Input {
  std::string path;  // absolute
  FileStamp stamp;
};
struct FoundInputs {
  std::vector<Input> inputs;
  std::vector<std::string> problems;  // lines for the user
};
// Finds the regular files with bytes in them that match the patterns, at most `most`. Waits until the
// youngest file is two seconds old: a file system may give two changes within one second the same time.
FoundInputs find_inputs(const std::vector<std::string>& patterns, std::size_t most);

// A descriptor of a copy that this process keeps. It has a high number, and exec closes it. The program may
// close it, and use its number for another file.
class HeldCopy {
 public:
  // Opens the copy again, for reading only.
  explicit HeldCopy(const Fd& copy);
  ~HeldCopy();
  HeldCopy(HeldCopy&& other) noexcept = default;
  HeldCopy& operator=(HeldCopy&&) = delete;

  bool valid() const { return fd_.valid(); }
  int get() const { return fd_.get(); }

 private:
  Fd fd_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace millrace::client
