// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "base/result.hpp"
#include "base/settings.hpp"
#include "client/costs.hpp"
#include "client/file.hpp"

// The costs of each file system that this user's programs write to, kept in the user's cache folder: a small
// text file for each. `millrace doctor PATH` measures them; what series of files took is added when a program
// ends. A record that is missing, cut or nonsense is as none: typical costs.
namespace millrace::client {

// The file system that holds a path or is to hold it: its type and what is mounted, such as "ext4 /dev/vda1".
// Empty: the kernel does not tell.
std::string file_system_of(const std::string& path);

// Never 0.
std::uint64_t number_of_file_system(const std::string& file_system);

// The folder of the records: the setting cost_directory, else millrace in XDG_CACHE_HOME or in ~/.cache.
// Empty: there is none.
std::string cost_directory(const Settings& settings);

// The record of a file system.
std::string cost_record(const std::string& directory, const std::string& file_system);

// True if there is a record that says something.
bool load_costs(const std::string& record, Costs& costs);
// Whole or not at all; makes the folder.
Status store_costs(const std::string& record, const std::string& file_system, const Costs& costs);

// The records that a process goes by and adds to. Thread safe.
class CostBook {
 public:
  explicit CostBook(const Settings& settings) : settings_(settings) {}

  // The costs for a file, from the record or typical ones. Programs write to one file system, or a few: the
  // last one's are remembered.
  KnownCosts of(const std::string& path);
  // What files of that file system have taken so far.
  void learn(const ObservedFiles& observed);
  // Adds that to the record. Best effort: who cannot keep one goes by typical costs the next time.
  void store();

 private:
  void store_locked();

  const Settings& settings_;
  std::mutex mutex_;
  std::string file_system_;
  KnownCosts known_;
  Ways learned_;
};

}  // namespace millrace::client
