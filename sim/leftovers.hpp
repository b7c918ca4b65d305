// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "io/virtual/virtual_disk.hpp"

// Journals have names in a real folder and contents on a virtual disk. When a process of a run dies, its
// journals become real files, and the shipped program recovers them.
namespace millrace::sim {

// A folder of a run. The destructor removes it.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A journal on the disk.
struct Leftover {
  std::string path;
  std::vector<std::byte> contents;
  std::uint64_t mtime_ns;  // of the virtual clock
};

// The journals in `directory`. `dead`: only those without a living owner (their lock is free).
std::vector<Leftover> find_leftovers(io::VirtualDisk& disk, const std::string& directory, bool dead);
// Makes them real files. Call it after the end of the process, which has removed their names by then.
void restore(const std::vector<Leftover>& files, const std::string& directory);

// Gives the rescues of ranks, which are real files from their begin, the date of the run.
void date_rescues(const io::VirtualDisk& disk, const std::string& directory);

}  // namespace millrace::sim
