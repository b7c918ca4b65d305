// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "client/costs/costs.hpp"

namespace millrace::client {

// Lessons from the earlier files of a process, for its next ones. A series is a row of files whose names
// differ only in digits. Thread safe.
class History {
 public:
  static constexpr std::uint32_t unknown = UINT32_MAX;

  // The last file of a series.
  struct Past {
    std::uint32_t share = unknown;  // the part of it that this rank has read, in thousandths
    Factors factors = {};           // the last known
  };
  Past of(std::string_view path) const;
  void read(std::string_view path, std::uint64_t bytes, std::uint64_t size);
  // `measured`: Account::measured() at the end.
  void wrote(std::string_view path, const Factors& measured);

  std::atomic<bool> syncs{false};  // the program has called MPI_File_sync, so it is likely to do so again

 private:
  struct Entry {
    std::uint64_t series = 0;  // 0: free
    Past past = {};
  };
  Past& past_of(std::uint64_t series);

  mutable std::mutex mutex_;
  std::array<Entry, 64> entries_{};  // a new one replaces the oldest
  std::size_t next_ = 0;
};

}  // namespace millrace::client
