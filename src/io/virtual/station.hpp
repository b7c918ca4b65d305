// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "io/virtual/timeline.hpp"

namespace millrace::io {

struct StationOptions {
  std::uint32_t slots = 1;             // pieces served at the same time: for example, processors of a socket
  std::uint64_t bytes_per_second = 0;  // of each slot; 0: bytes take no time
  std::uint64_t piece_ns = 0;          // for each piece of any size: a system call, a request to a daemon
  std::uint64_t waiting_ns = 0;        // more for each piece that waits already: locks, lost processors
};

// A part of a machine that transfers share in virtual time. Examples: a PCIe link, a switch's port, the links
// between two sockets, a DMA engine, a daemon that pins pages, the processors of a socket. It serves pieces
// in the order of arrival:
//
//   serve() -> | wait | -> [slot 0]  -> the time that serve() returned
//                          [slot 1]
//
// Not thread safe.
class Station {
 public:
  Station(const Timeline& timeline, const StationOptions& options);

  // Returns the time at which a piece that arrives now has been served. The piece takes `extra_ns` more than
  // the options say.
  std::uint64_t serve(std::uint64_t bytes, std::uint64_t extra_ns);

  // The sum of the busy times of all slots so far.
  std::uint64_t busy_ns() const { return busy_ns_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  const Timeline& timeline_;
  StationOptions options_;
  std::vector<std::uint64_t> free_ns_;  // the time when each slot becomes free; a heap, the earliest first
  std::deque<std::uint64_t> starts_;    // of pieces that have not begun
  std::uint64_t busy_ns_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace millrace::io
