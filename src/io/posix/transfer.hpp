// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "io/posix/give_way.hpp"
#include "io/storage.hpp"

namespace millrace::io {

// A vectored transfer that may need several system calls: what is left of it, and where it goes.
// Moves through the request's own iovecs, changing them.
class Transfer {
 public:
  Transfer() = default;
  // `call_max`: one call moves no more, and ends at a multiple of it.
  Transfer(Request& request, bool direct, std::uint64_t call_max = UINT64_MAX);

  // What the next call is to move: at most IOV_MAX buffers, and none behind the next gap.
  std::span<iovec> next();
  // Where it goes; valid after next().
  std::uint64_t offset() const { return offset_; }
  std::uint64_t moved() const { return moved_; }
  bool over() const { return left_ == 0; }

  // The outcome of a call as the kernel tells it, negative for an errno. Returns false when the transfer
  // ends here: done, or end of file. After an error, whose first status() has, it goes on behind the next
  // gap.
  bool advance(ssize_t result);
  Status status() const { return status_; }

 private:
  void skip(std::uint64_t bytes);
  bool fail(Status status);

  std::span<iovec> data_;
  iovec* shortened_ = nullptr;  // for the call under way, by cut_off_
  std::size_t cut_off_ = 0;
  std::uint64_t call_max_ = UINT64_MAX;
  std::uint64_t offset_ = 0;
  std::uint64_t moved_ = 0;
  std::uint64_t left_ = 0;
  bool read_ = false;
  bool direct_ = false;
  Status status_;
};

// Carries a request out on this thread, and blocks until it is done. `give_way`, if there is one, is used
// before every call that copies.
Completion carry_out(int fd, Request& request, bool direct, GiveWay* give_way = nullptr);

}  // namespace millrace::io
