// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "base/result.hpp"
#include "client/costs/costs.hpp"

// The costs of each file system that this user's programs write to, kept in the user's cache folder: a small
// text file for each. `millrace doctor PATH` measures them. If a record is missing, cut off or invalid,
// typical costs apply.
namespace millrace::client {

// The folder of the records: millrace in XDG_CACHE_HOME or in ~/.cache. Empty: there is none, also if HOME is
// not a folder.
std::string cost_directory();

// The path of a file system's record.
std::string cost_record(const std::string& directory, const std::string& file_system);

// True if there is a valid record.
bool load_costs(const std::string& record, Costs& costs);
// Stores the whole record or nothing; makes the folder.
Status store_costs(const std::string& record, const std::string& file_system, const Costs& costs);

// The cost records that a process uses. Thread safe.
class CostBook {
 public:
  // The costs of a file system (file_system_of), from the record or typical ones. A program writes to one or
  // a few file systems, so the book remembers only the costs of the last one.
  Costs of(const std::string& file_system);

 private:
  std::mutex mutex_;
  std::string file_system_;
  Costs known_ = typical_costs();
};

}  // namespace millrace::client
