// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/sieve.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "io/posix/extent_lock.hpp"

namespace millrace::client {

namespace {

constexpr std::size_t most_pieces = 16384;  // of a part

Status read_all(int file, std::span<std::byte> into, std::uint64_t offset) {
  while (!into.empty()) {
    const ssize_t got = ::pread(file, into.data(), into.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Status::from_errno(errno);
    if (got == 0) break;  // the end of the file
    offset += static_cast<std::uint64_t>(got);
    into = into.subspan(static_cast<std::size_t>(got));
  }
  std::ranges::fill(into, std::byte{0});
  return {};
}

Status write_all(int file, std::span<const std::byte> from, std::uint64_t offset) {
  while (!from.empty()) {
    const ssize_t put = ::pwrite(file, from.data(), from.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return Status::from_errno(put < 0 ? errno : EIO);
    offset += static_cast<std::uint64_t>(put);
    from = from.subspan(static_cast<std::size_t>(put));
  }
  return {};
}

}  // namespace

Status Sieve::write(int file, PieceSource& source, const Sweep& sweep) {
  const std::lock_guard lock(mutex_);
  pieces_.clear();
  std::uint64_t begin = 0, end = 0;  // of the part at hand
  const Status status = for_each_batch(source, [&](std::span<const Piece> batch) -> Status {
    for (Piece piece : batch) {
      while (piece.size > 0) {
        const bool follows = !pieces_.empty() && piece.offset >= end && piece.offset - end <= sweep.gap &&
                             piece.offset < begin + sweep.window && pieces_.size() < most_pieces;
        if (!follows) {
          if (const Status before = put(file, begin, end); !before.ok()) return before;
          begin = piece.offset;
        }
        const std::uint64_t size = std::min(piece.size, begin + sweep.window - piece.offset);
        pieces_.push_back({piece.offset, piece.data, size});
        end = piece.offset + size;
        piece = {end, static_cast<const std::byte*>(piece.data) + size, piece.size - size};
      }
    }
    return {};
  });
  const Status last = status.ok() ? put(file, begin, end) : Status();
  pieces_.clear();
  return status.ok() ? last : status;
}

Status Sieve::put(int file, std::uint64_t begin, std::uint64_t end) {
  if (pieces_.empty()) return {};
  std::uint64_t bytes = 0;
  for (const Piece& piece : pieces_) bytes += piece.size;
  const std::uint64_t size = end - begin;
  const io::ExtentLock lock(file, begin, size);
  if (pieces_.size() == 1) {
    const auto* data = static_cast<const std::byte*>(pieces_.front().data);
    pieces_.clear();
    return write_all(file, {data, size}, begin);
  }
  if (part_.size() < size) part_.resize(size);
  const std::span<std::byte> part(part_.data(), size);
  if (bytes < size) {
    if (const Status read = read_all(file, part, begin); !read.ok()) return read;
  }
  for (const Piece& piece : pieces_)
    std::memcpy(part.data() + (piece.offset - begin), piece.data, piece.size);
  pieces_.clear();
  return write_all(file, part, begin);
}

}  // namespace millrace::client
