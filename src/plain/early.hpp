// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/settings.hpp"
#include "plain/calls.hpp"

namespace millrace::plain {

// Early writeback: the disk begins while the program still writes, so that fsync finds little to do. Without
// an fsync this only costs time (measured: a third of the speed is left). So `automatic` waits until the
// process has synced a file that it wrote in large pieces, and stops when the process stops syncing.
//
// It only advises the kernel. Its memory may be wrong (after a close, or with another thread) without harm to
// any byte. So it needs no hook in open, close, dup or lseek. It takes no lock, allocates nothing, keeps
// errno, and may be called from any thread and from signal handlers. One per process.
class EarlyWriteback {
 public:
  explicit constexpr EarlyWriteback(Early mode = Early::automatic) : mode_(mode) {}
  void set_mode(Early mode) { mode_.store(mode, std::memory_order_relaxed); }

  // Smaller writes are not looked at.
  static constexpr std::size_t noticed_bytes = 64 << 10;
  // Bytes in a row after which the disk begins.
  static constexpr std::uint64_t step_bytes = 2 << 20;
  // A file of which less was written teaches nothing.
  static constexpr std::uint64_t teaching_bytes = 4 << 20;
  // Descriptors that are remembered.
  static constexpr std::size_t slots = 32;

  // True if the position of such a write matters.
  bool on() const;

  // `bytes` were written at `begin`; without a position (-1) they are only counted.
  void wrote(const Calls& calls, int fd, off_t begin, std::size_t bytes);

  // The program has synced the file.
  void synced(int fd);

 private:
  struct Slot {
    int fd = -1;
    std::uint64_t begin = 0;  // [begin, end) was written, and the disk was not told
    std::uint64_t end = 0;
    std::uint64_t written_bytes = 0;  // since the last sync
  };
  Slot& slot_of(int fd);

  std::atomic<Early> mode_;
  std::atomic<bool> learned_{false};
  std::atomic<std::uint64_t> budget_bytes_{0};  // may be written early before the next sync
  std::atomic<bool> busy_{false};
  std::size_t next_ = 0;
  std::array<Slot, slots> slots_ = {};
};

}  // namespace millrace::plain
