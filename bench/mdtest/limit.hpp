// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>

#include "mdtest/settings.hpp"

namespace bench::mdtest {

// The measured operations, in the order of the run.
enum Operation {
  tree_create,
  dir_create,
  dir_stat,
  dir_rename,
  dir_remove,
  file_create,
  file_stat,
  file_read,
  file_remove,
  tree_remove,
  operation_count
};
inline constexpr std::array<const char*, operation_count> operation_names{
    "tree_create", "dir_create", "dir_stat",  "dir_rename",  "dir_remove",
    "file_create", "file_stat",  "file_read", "file_remove", "tree_remove"};

// Operations per second of one process that does nothing else, in one directory, by names and not by paths:
// as many as this file system gives to one. 0: not measured.
using Limits = std::array<double, operation_count>;

// Leaves nothing in `folder`. Throws std::runtime_error where it cannot be used.
Limits measure_limits(const Settings& s, const std::string& folder);

}  // namespace bench::mdtest
