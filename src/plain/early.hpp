// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "plain/calls.hpp"
#include "plain/notes.hpp"

namespace millrace::plain {

// Early writeback: the disk begins while the program still writes, so that fsync has little to do. Without an
// fsync, early writeback only costs time (in a measurement, a third of the speed was left). So this class
// waits until the process has synced a file that it wrote in large pieces, and stops when the process stops
// syncing.
//
// This class only advises the kernel: wrong advice harms no byte. So its memory of a file may be wrong (after
// a close, or with another thread), and it needs no hook in open, close, dup or lseek. It takes no lock,
// allocates no memory and keeps errno. Any thread and any signal handler may call it. A process has one
// object.
class EarlyWriteback {
 public:
  // Forbids early writeback, for good.
  void turn_off() { off_.store(true, std::memory_order_relaxed); }
  bool off() const { return off_.load(std::memory_order_relaxed); }
  // `notes` counts all bytes of wrote(), and those that go early. It must live as long as this object.
  constexpr void set_notes(Notes* notes) { notes_ = notes; }

  // Smaller writes are ignored.
  static constexpr std::size_t noticed_bytes = 64 << 10;
  // The disk begins after this many bytes in a row.
  static constexpr std::uint64_t step_bytes = 2 << 20;
  // A sync of a file with fewer written bytes teaches nothing.
  static constexpr std::uint64_t teaching_bytes = 4 << 20;
  // The number of descriptors that the class remembers.
  static constexpr std::size_t slots = 32;

  // True if early writeback is on. Then wrote() needs positions.
  bool on() const;

  // Call it after `bytes` were written at `begin`. Without a position (-1), it only counts the bytes.
  void wrote(const Calls& calls, int fd, off_t begin, std::size_t bytes);

  // Call it after the program has synced the file.
  void synced(int fd);

 private:
  struct Slot {
    int fd = -1;
    std::uint64_t begin = 0;  // [begin, end) was written, and no writeback was started
    std::uint64_t end = 0;
    std::uint64_t written_bytes = 0;  // since the last sync
  };
  Slot& slot_of(int fd);

  std::atomic<bool> off_{false};
  Notes* notes_ = nullptr;
  std::atomic<bool> learned_{false};
  std::atomic<std::uint64_t> budget_bytes_{0};  // bytes that may go early before the next sync
  std::atomic<bool> busy_{false};
  std::size_t next_ = 0;
  std::array<Slot, slots> slots_ = {};
};

}  // namespace millrace::plain
