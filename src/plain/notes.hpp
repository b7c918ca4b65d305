// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "plain/calls.hpp"

namespace millrace::plain {

// What Millrace did with a file's bytes.
struct Noted {
  std::uint64_t bytes = 0;          // of writes that Millrace notices
  std::uint64_t offered_bytes = 0;  // of them: written while early writeback was on
  std::uint64_t early_bytes = 0;    // of them: the disk began before the program's sync
  std::uint64_t behind_bytes = 0;   // of them: the write returned early
};

// Counts bytes by descriptor, for reports (`millrace run --posix --stats`). Without MILLRACE_STATS it counts
// nothing. It takes no lock and allocates no memory, so any thread and any signal handler may call it. If all
// slots are taken, further files are not counted. A file that another process continues after fork() has
// counts of its own there. A process has one object.
class Notes {
 public:
  static constexpr std::size_t slots = 64;

  void wrote(int fd, std::size_t bytes) { add(fd, &Slot::bytes, bytes); }
  void offered(int fd, std::size_t bytes) { add(fd, &Slot::offered_bytes, bytes); }
  void went_early(int fd, std::size_t bytes) { add(fd, &Slot::early_bytes, bytes); }
  void went_behind(int fd, std::size_t bytes) { add(fd, &Slot::behind_bytes, bytes); }

  // Call it before fd is closed. Returns the counts and forgets them. All counts are 0 if there is nothing to
  // report.
  Noted take(int fd);
  // Calls tell(fd) for each descriptor with counts. tell() may call take().
  template <class Tell>
  void each(Tell tell) {
    for (const Slot& slot : all_) {
      const int fd = slot.fd.load();
      if (fd >= 0) tell(fd);
    }
  }

  // False: MILLRACE_STATS is not set.
  bool on();

 private:
  static constexpr int free_slot = -1, changing = -2;
  struct Slot {
    std::atomic<int> fd{free_slot};
    std::atomic<pid_t> process{0};
    std::atomic<std::uint64_t> bytes{0}, offered_bytes{0}, early_bytes{0}, behind_bytes{0};
  };
  enum : int { unknown, off, counting };

  void add(int fd, std::atomic<std::uint64_t> Slot::*count, std::size_t bytes) {
    if (state_.load(std::memory_order_relaxed) == off) return;
    if (Slot* slot = slot_of(fd)) (slot->*count).fetch_add(bytes, std::memory_order_relaxed);
  }
  Slot* slot_of(int fd);

  std::atomic<int> state_{unknown};
  std::array<Slot, slots> all_ = {};
};

// Longer paths are not reported: threads may have small stacks.
inline constexpr std::size_t path_max = 1024, line_max = 2 * path_max;

// Writes one line of JSON, without the newline, about a file: docs/reference/statistics.md. `why` and
// `setting` are literals without special characters. Returns its length, less than `room`; 0: the line has no
// room.
std::size_t describe(const Noted& noted, const char* path, const char* why, const char* setting, char* line,
                     std::size_t room);

}  // namespace millrace::plain
