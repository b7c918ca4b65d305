// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/way/read_pieces.hpp"

#include <fcntl.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>

#include "base/settings.hpp"

namespace millrace::client {

namespace {

// The kernel copies about this many cached bytes in the time of a system call.
constexpr std::uint64_t gap_max = 4 * KiB;
// The kernel reads ahead only for sequences. So a transfer announces pieces with a hole of at most this size
// between them. A disk takes no longer for such a hole than for another request.
constexpr std::uint64_t advised_gap_max = 64 * KiB;
constexpr std::uint64_t advised_bytes = 4 * MiB;

// The pieces of one system call. The bytes between them go to memory that is never read.
class Part {
 public:
  explicit Part(int file) : file_(file) {}

  Status take(const Piece& piece) {
    const bool follows = used_ != 0 && piece.offset >= end_ && piece.offset - end_ <= gap_max &&
                         used_ + 2 <= segments_.size() && end_ - begin_ <= bytes_max;
    if (!follows) {
      if (const Status status = read(); !status.ok()) return status;
      begin_ = end_ = piece.offset;
    }
    if (piece.offset != end_) add(unread_.data(), piece.offset - end_);
    add(const_cast<void*>(piece.data), piece.size);
    return {};
  }

  Status read() {
    iovec* at = segments_.data();
    iovec* const last = at + used_;
    used_ = 0;
    while (at != last) {
      const ssize_t got = ::preadv(file_, at, static_cast<int>(last - at), static_cast<off_t>(begin_));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return Code::io;
      begin_ += static_cast<std::uint64_t>(got);
      auto rest = static_cast<std::size_t>(got);
      for (; at != last && rest >= at->iov_len; ++at) rest -= at->iov_len;
      if (rest == 0) continue;
      at->iov_base = static_cast<std::byte*>(at->iov_base) + rest;
      at->iov_len -= rest;
    }
    return {};
  }

 private:
  static constexpr std::uint64_t bytes_max = 1 * GiB;  // the kernel's own limit for a call is higher

  void add(void* memory, std::uint64_t bytes) {
    segments_[used_++] = {memory, bytes};
    end_ += bytes;
  }

  const int file_;
  std::uint64_t begin_ = 0, end_ = 0;
  std::size_t used_ = 0;
  std::array<iovec, 256> segments_;
  std::array<std::byte, gap_max> unread_;
};

// Tells the kernel to read pieces ahead where holes hide them from its own read-ahead.
class Advice {
 public:
  explicit Advice(int file) : file_(file) {}

  void follow(const Piece& piece) {
    const std::uint64_t end = piece.offset + piece.size;
    const bool near = piece.offset > end_ && piece.offset - end_ <= advised_gap_max;
    if (near && end > advised_) {
      ::posix_fadvise(file_, static_cast<off_t>(piece.offset), advised_bytes, POSIX_FADV_WILLNEED);
      advised_ = piece.offset + advised_bytes;
    }
    end_ = end;
  }

 private:
  const int file_;
  std::uint64_t end_ = UINT64_MAX;
  std::uint64_t advised_ = 0;
};

}  // namespace

Status read_pieces(int file, PieceSource& source) {
  Part part(file);
  Advice advice(file);
  const Status status = for_each_batch(source, [&](std::span<const Piece> batch) -> Status {
    for (const Piece& piece : batch) {
      advice.follow(piece);
      if (const Status now = part.take(piece); !now.ok()) return now;
    }
    return {};
  });
  return status.ok() ? part.read() : status;
}

}  // namespace millrace::client
