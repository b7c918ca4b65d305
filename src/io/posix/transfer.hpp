// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "io/posix/cache.hpp"
#include "io/posix/give_way.hpp"
#include "io/storage.hpp"

namespace millrace::io {

// The rest of a vectored transfer that may need several system calls. Goes through the request's own iovecs
// and changes them. Not thread safe.
class VectoredTransfer {
 public:
  VectoredTransfer() = default;
  // `call_max` is the most bytes of one call. Calls end at file offsets that are multiples of it.
  VectoredTransfer(Request& request, Cache cache, std::uint64_t call_max = UINT64_MAX);

  // The buffers of the next call: at most IOV_MAX, and only up to the next gap.
  std::span<iovec> next();
  // The file offset of the next call. Valid after next().
  std::uint64_t offset() const { return offset_; }
  std::uint64_t moved() const { return moved_; }
  bool over() const { return left_ == 0; }

  // Takes the result of a call: the bytes moved, or -errno. Returns false if the transfer has ended, also at
  // the end of the file. After an error, the transfer goes on behind the next gap. status() has the first
  // error.
  bool advance(ssize_t result);
  // The time to wait before the next call: the last calls ended with EAGAIN. The time doubles from call to
  // call, and after about 10 s of it EAGAIN is an error.
  std::uint64_t rest_ns() const {
    return refusals_ == 0 || refusals_ > most_refusals ? 0 : first_rest_ns << (refusals_ - 1);
  }
  static constexpr std::uint64_t first_rest_ns = 10'000;
  static constexpr unsigned most_refusals = 20;
  Status status() const { return status_; }

 private:
  void skip(std::uint64_t bytes);
  bool fail(Status status);

  std::span<iovec> data_;
  iovec* shortened_ = nullptr;  // the last buffer of the call under way, which is shorter by cut_off_
  std::size_t cut_off_ = 0;
  std::uint64_t call_max_ = UINT64_MAX;
  std::uint64_t offset_ = 0;
  std::uint64_t moved_ = 0;
  std::uint64_t left_ = 0;
  unsigned refusals_ = 0;  // calls in a row that ended with EAGAIN
  bool read_ = false;
  bool in_blocks_ = false;
  Status status_;
};

// Carries out a request on this thread. Blocks until it is done. Uses `give_way`, if not null, before every
// call that copies.
Completion carry_out(int fd, Request& request, Cache cache, GiveWay* give_way = nullptr);

}  // namespace millrace::io
