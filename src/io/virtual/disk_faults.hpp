// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "io/storage.hpp"
#include "io/virtual/timeline.hpp"

namespace millrace::io {

// What goes wrong with a VirtualDisk, apart from crashes. Owned by it. Not thread safe.
class DiskFaults {
 public:
  DiskFaults(const Timeline& timeline, std::uint64_t capacity_bytes)
      : timeline_(timeline), own_capacity_bytes_(capacity_bytes), capacity_bytes_(capacity_bytes) {}

  // No request that begins from now on ends before this time has passed.
  void stall(std::uint64_t for_ns) { stalled_until_ns_ = timeline_.now_ns() + for_ns; }
  // Makes the disk this many times slower.
  void slow(std::uint64_t times) { slowness_ = times; }
  void set_capacity(std::uint64_t bytes) { capacity_bytes_ = bytes; }
  // After `skip` more requests of this kind, the next one fails, on any node. A failing write may move a part
  // of its bytes. A failing datasync loses its bytes, as page caches do. A failing close loses bytes that
  // the node's cache had accepted, as network file systems do. If release() closes the file, nobody is told.
  void fail(Op op, std::uint64_t skip, int error) { planned_.push_back({op, skip, error}); }
  // Ends all faults.
  void repair() {
    planned_.clear();
    slowness_ = 1;
    stalled_until_ns_ = 0;
    capacity_bytes_ = own_capacity_bytes_;
  }

  // The error of a request of this kind that begins now; 0: none.
  int next_error(Op op) {
    int error = 0;
    for (Planned& one : planned_) {
      if (one.op != op || one.error == 0) continue;
      if (one.skip-- == 0) error = std::exchange(one.error, 0);
    }
    return error;
  }
  std::uint64_t stalled_until_ns() const { return stalled_until_ns_; }
  std::uint64_t slowness() const { return slowness_; }
  std::uint64_t capacity_bytes() const { return capacity_bytes_; }

 private:
  struct Planned {
    Op op;
    std::uint64_t skip;
    int error;
  };

  const Timeline& timeline_;
  const std::uint64_t own_capacity_bytes_;
  std::uint64_t capacity_bytes_;
  std::vector<Planned> planned_;
  std::uint64_t slowness_ = 1;
  std::uint64_t stalled_until_ns_ = 0;
};

}  // namespace millrace::io
