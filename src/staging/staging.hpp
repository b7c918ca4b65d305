// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/settings.hpp"
#include "staging/buffers.hpp"
#include "staging/device.hpp"
#include "staging/end.hpp"

namespace millrace::staging {

// The most bytes that one call moves, as in the kernel.
inline constexpr std::uint64_t request_max = 0x7ffff000;

struct Shape {
  std::size_t slots = 4;
  std::size_t slot_bytes = 2 * MiB;
  // A request is cut into eight or more pieces, but into none below this size. So copy and call overlap in
  // small requests too. The vendor's own designs cut only requests larger than a slot.
  std::size_t piece_min = 512 * KiB;

  std::size_t bytes() const { return slots * slot_bytes; }
  std::size_t piece_bytes(std::uint64_t request) const;
};

// The outcome of a call, as in POSIX: the count if it is not 0, else the error. An error behind a count is
// not lost, because the next call meets the same cause.
struct Moved {
  std::uint64_t bytes = 0;
  Status status;

  // A count or -errno.
  ssize_t count() const;
};

// A ring of slots in host memory, and the queue that fills and drains them. The slots are registered with the
// device once.
//
//   write_through    copy to slot 0 | copy to slot 1 | copy to slot 0 | ...
//                                   | write slot 0   | write slot 1   | ...
//
// The host's end makes its calls one by one and in order. The copy of the next piece runs during each call.
// One thread uses a Staging at a time, and the device outlives it.
class Staging {
 public:
  static Result<std::unique_ptr<Staging>> create(Device& device, const Shape& shape);
  ~Staging();

  // Move bytes until `bytes` have moved, or until the end of the file, a short count, or an error at either
  // end.
  Moved write_through(Address from, std::uint64_t bytes, End& to);
  // Waits only for the first piece, so that a pipe's reader gets the bytes that are there. If `may_wait` is
  // false, does not wait at all.
  Moved read_through(End& from, Address to, std::uint64_t bytes, bool may_wait = true);

  Device& device() const { return device_; }
  std::size_t bytes() const { return shape_.bytes(); }
  // The status of registering the slots. If it is an error, copies are slower.
  Status pinned() const { return pinned_; }
  // True if a copy did not end in time. The copy may still write to the slots, so they are never used again
  // or unmapped.
  bool retired() const { return retired_; }

 private:
  struct Piece;
  Staging(Device& device, const Shape& shape) : device_(device), shape_(shape) {}
  std::span<std::byte> slot(std::uint64_t piece, std::size_t bytes);
  Status finish(CopyTicket ticket);

  Device& device_;
  Shape shape_;
  std::unique_ptr<Buffers> buffers_;
  std::unique_ptr<Queue> queue_;
  Status pinned_;
  bool retired_ = false;
};

}  // namespace millrace::staging
