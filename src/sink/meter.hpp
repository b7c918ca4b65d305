// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/settings.hpp"

namespace millrace::sink {

// Which way to a file system's disk takes less time per byte: through the page cache, or past it (O_DIRECT).
// Learned from what writes took, one for all files of a file system. A disk that is slower than a copy in
// memory is never waited for this way; memory that is slow to come by (cold, or full of dirty pages) is not
// waited for either. Nothing goes past the page cache before a sync has been asked for: who makes no byte
// stable gains little by it, and reads the file back from the disk. Deterministic: it knows no clock but the
// times that completions bring.
class Meter {
 public:
  // Who writes less than this is not worth a trial, which on a slow disk would cost more than all of it.
  static constexpr std::uint64_t trial_from_bytes = 8 * MiB;
  static constexpr std::uint64_t trial_bytes = 4 * MiB;
  // The way not taken is tried again after so much: memory gets short, disks get busy.
  static constexpr std::uint64_t again_after_bytes = 256 * MiB;

  // The way for the next write, of `bytes`, which is sure to be carried out.
  bool takes_direct(std::uint64_t bytes);
  // A sync of a file was asked for.
  void synced() { synced_ = true; }
  // How it went. Writes of one way overlap in time: what counts is the time with any of them under way.
  void took(bool direct, std::uint64_t bytes, std::uint64_t begin_ns, std::uint64_t end_ns);

 private:
  struct Way {
    std::uint64_t bytes = 0;
    std::uint64_t ns = 0;
    std::uint64_t last_end_ns = 0;
  };

  std::array<Way, 2> ways_{};  // [0] through the page cache, [1] past it
  bool synced_ = false;
  std::size_t better_ = 0;
  std::size_t tried_ = 1;         // the way of the last trial, or of the first to come
  std::uint64_t trial_left_ = 0;  // bytes
  std::uint64_t until_trial_ = trial_from_bytes;
};

}  // namespace millrace::sink
