// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.hpp"

// Inputs: plain files that all ranks read, copied to every node at MPI_Init (setting posix_stage, ADR 25).
// This header has the rank's part that needs no MPI.
namespace millrace::client {

// The state of a file, as all nodes see it. Every change of the file changes at least `status_ns`.
struct InputStamp {
  std::uint64_t inode = 0;  // 0: there is no regular file
  std::uint64_t size = 0;
  std::int64_t changed_ns = 0;
  std::int64_t status_ns = 0;  // of the last change of bytes, owner, mode or name

  bool operator==(const InputStamp&) const = default;
};
// Asks the file system's server. `about` gets the description of the file on this node.
InputStamp look_at_input(const std::string& path, struct stat& about);

struct Input {
  std::string path;  // absolute
  InputStamp stamp;
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
