// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/virtual/virtual_disk.hpp"

// Journals have names in a real folder and contents on a virtual disk. When a process of a run dies, its
// journals become real files, and what recovers them is the shipped program.
namespace millrace::sim {

// A folder of a run, which goes with it.
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

// What is in journals of `directory` that the disk knows.
class Leftovers {
 public:
  // `dead`: only those that nobody has open; else of their owner too.
  Leftovers(io::VirtualDisk& disk, const std::string& directory, bool dead);
  // After it has gone, and the names that it takes with it in an orderly end.
  void restore(const std::string& directory) const;

 private:
  std::vector<std::pair<std::string, std::vector<std::byte>>> files_;  // path, contents
};

// The first bytes of a journal: of a virtual one, or of one that is real by now.
bool read_start(io::VirtualDisk& disk, const Fd& journal, void* into, std::size_t size);

// `file` is a real one now.
bool write_out(const std::string& file, std::span<const std::byte> contents);
std::vector<std::byte> read_in(const std::string& file);

// Runs `millrace recover` for journals in `directory`: its exit status, and what it says. The files that it
// writes to are real ones, those that the disk knows.
std::pair<int, std::string> recover(io::VirtualDisk& disk, const std::string& directory);

// Which file of the disk the name means.
Result<FileIdentity> identify(io::VirtualDisk& disk, const std::string& path);

}  // namespace millrace::sim
