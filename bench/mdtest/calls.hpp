// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mdtest/settings.hpp"

namespace bench::mdtest {

// The system calls, each on one path, and what is wrong with their outcome. Paths are relative to a directory
// if one is given. Not thread safe.
class Calls {
 public:
  explicit Calls(const Settings& s, int directory = -100 /* AT_FDCWD */);

  void make_directory(const char* path);
  void remove_directory(const char* path);
  void rename_directory(const char* from, const char* to);
  // Content is that of `seed`.
  void make_file(const char* path, std::uint64_t seed);
  void touch_file(const char* path);
  void read_file(const char* path, std::uint64_t seed);
  void remove_file(const char* path);
  void stat_directory(const char* path) { stat(path, false); }
  void stat_file(const char* path) { stat(path, true); }

  long errors() const { return errors_; }
  void problem(const std::string& what, const char* path, bool use_errno);

 private:
  void stat(const char* path, bool file);
  bool write_all(int fd);

  const Settings& s_;
  int directory_;
  std::vector<char> buffer_;
  long errors_ = 0;
};

}  // namespace bench::mdtest
