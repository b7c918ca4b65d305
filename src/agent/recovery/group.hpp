// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "agent/recovery/recovery.hpp"
#include "agent/recovery/recovery_target.hpp"
#include "base/fd.hpp"
#include "io/storage.hpp"
#include "journal/folder.hpp"
#include "journal/reader.hpp"

namespace millrace::agent {

// What a recovery has done so far.
struct RecoveryOutcome {
  std::ostream& out;
  std::ostream& error;
  std::size_t living = 0;  // journals that living processes use
  std::size_t dead = 0;
  bool failed = false;

  void refuse(const std::string& path, const std::string& why) {
    error << "millrace recover: " << path << ": " << why << '\n';
    failed = true;
  }
};

// The recovery of all logs of one file: all of them, or none. Call it with the lock of the folder.
class LogGroup {
 public:
  LogGroup(const RecoveryOptions& options, io::Storage& storage, Pace& pace, RecoveryOutcome& outcome)
      : options_(options), storage_(storage), pace_(pace), outcome_(outcome) {}
  void recover(const std::vector<std::string>& paths);

 private:
  // A journal that this process has locked and checked.
  struct Found {
    std::string path;
    Fd file;
    journal::Start start = {};
    std::uint64_t alive_ns = 0;
    journal::Summary summary = {};

    std::string what() const {
      return std::to_string(summary.records) + " records, " + std::to_string(summary.payload_bytes) +
             " bytes";
    }
  };

  void take(const std::string& path);
  bool usable(Found& found);
  void block(const std::string& path, const std::string& why, const std::string& blocker);
  void remove_done();
  void drop_passed_over();
  std::string trouble(const RecoveryTarget& target) const;
  std::uint64_t alive_ns(const Found& found) const;
  Status write_all(Fd target);
  Status begin();
  void show_life(bool progress);
  void leave(const Result<FileState>& target);
  Status remove_all();
  void refuse_all(const std::string& why);

  const RecoveryOptions& options_;
  io::Storage& storage_;
  Pace& pace_;
  RecoveryOutcome& outcome_;
  std::vector<Found> found_;
  std::string blocker_;   // a journal of the file that cannot be used
  bool complete_ = true;  // every journal of the file is in found_, or has no record
};

}  // namespace millrace::agent
