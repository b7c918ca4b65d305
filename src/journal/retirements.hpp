// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "io/storage.hpp"

namespace millrace::journal {

// A log whose records nobody needs any more.
struct Retired {
  Fd file;  // has the log's lock
  std::string path;
  std::string target = {};  // the file that has the records
  FileIdentity identity = {};
  std::uint32_t ledger = 0;  // the number of the log's user
};

// Retires logs (folder.hpp) in the storage's threads. A disk may refuse both the removal of a log and the
// word that the log is done. Recovery would then bring the log's old bytes back. So the log's lock stays,
// which means that the log counts as that of a living process, and the next try follows after retry_ns and at
// the end of the process. Not thread safe.
class Retirements {
 public:
  static constexpr std::uint64_t retry_ns = 1'000'000'000;

  Retirements(io::Storage& storage, std::uint32_t& next_owner) : storage_(storage), owner_(next_owner++) {}

  void add(Retired log);
  // Tries refused logs again.
  void advance(std::uint64_t now_ns);
  // The time for the next advance(); UINT64_MAX: no log is refused.
  std::uint64_t next_deadline_ns() const;
  // True if the process may end. False: a last try of the refused logs has begun.
  bool end();

  bool owns(const io::Completion& completion) const { return completion.token >> 32 == owner_; }
  // A completion of the storage; ignored if it is for another owner.
  void complete(const io::Completion& completion);
  std::uint64_t completions() const { return completions_; }

  bool quiet() const { return in_flight_ == 0; }
  bool busy_for(std::uint32_t ledger) const;
  // The error of a refused log of this user; ok if there is none.
  Status refused(std::uint32_t ledger) const;
  // The files of refused logs.
  std::vector<FileIdentity> refused() const;
  // Lines for the user.
  std::vector<std::string> take_messages() { return std::exchange(messages_, {}); }

 private:
  struct RetiredLog {
    std::shared_ptr<const Fd> file;
    std::string path, target;
    FileIdentity identity;
    std::uint32_t ledger;
    bool in_flight = false;
    bool last = false;    // the process ends after this try
    Status refused = {};  // by the last try
  };
  void start(std::uint32_t number, RetiredLog& log);

  io::Storage& storage_;
  std::uint32_t owner_;
  std::uint32_t next_ = 0;
  std::map<std::uint32_t, RetiredLog> logs_;  // by the number in the token
  std::uint32_t in_flight_ = 0;
  std::uint64_t completions_ = 0;
  std::uint64_t now_ns_ = 0, tried_ns_ = 0;
  std::vector<std::string> messages_;
};

}  // namespace millrace::journal
