// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/settings.hpp"

namespace millrace::sink {

// Decides which way to a file system's disk takes less time per byte: through the page cache, or past it
// (O_DIRECT). All files of a file system share one meter, which learns from the times of writes. So writes
// wait neither for a disk that is slower than a copy in memory, nor for slow memory (cold, or full of dirty
// pages). No write goes past the page cache before the first sync: a program without syncs gains little, and
// would read the file back from the disk. The meter is deterministic: it takes times only from completions.
class Meter {
 public:
  // The meter makes no trial before this many bytes: on a slow disk, the trial would cost more than all
  // writes.
  static constexpr std::uint64_t trial_from_bytes = 8 * MiB;
  static constexpr std::uint64_t trial_bytes = 4 * MiB;
  // The meter tries the other way again after this many bytes, because memory may get short and disks busy.
  static constexpr std::uint64_t again_after_bytes = 256 * MiB;

  // Returns the way for the next write, of `bytes`; true: past the page cache. The caller must make this
  // write.
  bool takes_direct(std::uint64_t bytes);
  // Call it when a file is synced.
  void synced() { synced_ = true; }
  // The file system refuses writes past the page cache.
  void refuse_direct() { refused_ = true; }
  // Takes the time of a write. Writes of one way overlap in time, so an overlap counts only once.
  void took(bool direct, std::uint64_t bytes, std::uint64_t begin_ns, std::uint64_t end_ns);

 private:
  struct WayTimes {
    std::uint64_t bytes = 0;
    std::uint64_t ns = 0;
    std::uint64_t last_end_ns = 0;
  };

  std::array<WayTimes, 2> ways_{};  // [0] through the page cache, [1] past it
  bool synced_ = false;
  bool refused_ = false;
  std::size_t better_ = 0;
  std::size_t tried_ = 1;         // the way of the last trial; at first, of the trial to come
  std::uint64_t trial_left_ = 0;  // bytes
  std::uint64_t until_trial_ = trial_from_bytes;
};

}  // namespace millrace::sink
