// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <optional>

#include "plain/behind.hpp"
#include "plain/calls.hpp"
#include "plain/early.hpp"
#include "plain/large.hpp"
#include "plain/notes.hpp"

namespace millrace::plain {

// Carries out calls that hooks have caught. `real` is the original call. A process has one object; any thread
// may call it. A hook asks notices() first, so that small calls cost one comparison.
class Engine {
 public:
  explicit constexpr Engine(const Calls& calls) : calls_(calls), behind_(calls, early_) {
    early_.set_notes(&notes_);
  }

  bool notices(std::size_t bytes) const { return bytes >= EarlyWriteback::noticed_bytes; }

  Behind& behind() { return behind_; }

  // Call it after fd was opened.
  void opened(int fd, int flags) {
    if (!asked_.load(std::memory_order_acquire)) configure_behind();
    if (behind_.looks_at_opens()) behind_.opened(fd, flags);
  }

  // Takes a write to a file with write-behind, at `at` or (-1) at the file's offset. nullopt: the file is
  // settled, and the caller makes the write.
  std::optional<ssize_t> write_behind(int fd, const void* data, std::size_t bytes, off_t at) {
    const iovec piece{const_cast<void*>(data), bytes};
    const auto taken = write_behind(fd, &piece, 1, at);
    if (!taken) behind_.settle(fd);
    return taken;
  }
  std::optional<ssize_t> write_behind(int fd, const iovec* pieces, int count, off_t at) {
    const auto taken = behind_.write(fd, pieces, count, at);
    if (taken && *taken > 0) notes_.went_behind(fd, static_cast<std::size_t>(*taken));
    return taken;
  }

  // write(2), at the descriptor's own offset.
  template <class Real>
  ssize_t write(int fd, const void* data, std::size_t bytes, Real real) {
    if (early() && bytes >= large_bytes) {
      if (const auto done = write_large(calls_, early_, fd, data, bytes)) return *done;
    }
    const ssize_t done = real();
    if (done > 0) wrote(fd, -1, static_cast<std::size_t>(done));
    return done;
  }

  // pwrite(2).
  template <class Real>
  ssize_t write_at(int fd, const void* data, std::size_t bytes, off_t at, Real real) {
    if (early() && bytes >= large_bytes) {
      if (const auto done = write_large_at(calls_, early_, fd, data, bytes, at)) return *done;
    }
    const ssize_t done = real();
    if (done > 0) wrote(fd, at, static_cast<std::size_t>(done));
    return done;
  }

  // True if write_stream() has to cut a stream's write of this size.
  bool divides(int fd, std::size_t bytes) { return early() && bytes >= large_bytes && divisible(calls_, fd); }

  // fwrite(3) in pieces: put(data, bytes) writes a piece to the stream and returns the number of bytes taken.
  // Returns the sum.
  template <class Put>
  std::size_t write_stream(int fd, const void* data, std::size_t bytes, Put put) {
    const auto* from = static_cast<const char*>(data);
    std::size_t done = 0;
    off_t at = position(fd);
    while (done < bytes) {
      const std::size_t piece = std::min<std::size_t>(EarlyWriteback::step_bytes, bytes - done);
      const std::size_t taken = put(from + done, piece);
      done += taken;
      if (taken < piece) break;
      const off_t end = position(fd);  // bytes in the stream's buffer are not counted
      if (at >= 0 && end > at) early_.wrote(calls_, fd, at, static_cast<std::size_t>(end - at));
      at = end;
    }
    return done;
  }

  // Call it after `bytes` were written at `at`, or (-1) up to the descriptor's offset.
  void wrote(int fd, off_t at, std::size_t bytes) {
    if (at < 0 && early()) {
      const off_t end = position(fd);
      at = end < static_cast<off_t>(bytes) ? -1 : end - static_cast<off_t>(bytes);
    }
    early_.wrote(calls_, fd, at, bytes);
  }

  void synced(int fd) { early_.synced(fd); }

  // True if closes are reported.
  bool reports() { return notes_.on(); }
  // Call it before fd is closed, after its write-behind has ended. Appends a line to the report if Millrace
  // has noticed writes. Keeps errno.
  void closing(int fd);
  // The same for all files that are open at the end of the process.
  void leaving() {
    notes_.each([this](int fd) { closing(fd); });
  }

 private:
  // True if writes go to the disk early. Reads the environment at the first call.
  bool early() {
    if (!ready_.load(std::memory_order_relaxed)) configure();
    return early_.on();
  }
  void configure();
  void configure_behind();
  off_t position(int fd) const;

  const Calls& calls_;
  Notes notes_;
  EarlyWriteback early_;
  Behind behind_;
  std::atomic<bool> ready_{false};
  std::atomic<bool> asked_{false};
};

}  // namespace millrace::plain
