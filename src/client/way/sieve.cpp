// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/way/sieve.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "io/posix/extent_lock.hpp"

namespace millrace::client {

namespace {

constexpr std::size_t most_pieces = 16384;  // of one part

class LocalFile final : public SievedFile {
 public:
  LocalFile(int file, io::GapLock* gaps) : file_(file), gaps_(gaps) {}

  bool lock(Extent extent, bool brief) override {
    using Hold = io::ExtentLock::Hold;
    sieves_ = !brief && gaps_ != nullptr && gaps_->begin(io::GapLock::WriterKind::sieve);
    lock_.emplace(file_, extent.begin, extent.size(), brief ? Hold::brief : Hold::lasting);
    return lock_->complete() && (sieves_ || gaps_ == nullptr);
  }
  void unlock() override {
    lock_.reset();
    if (std::exchange(sieves_, false)) gaps_->end();
  }

  Status read(std::uint64_t offset, std::span<std::byte> into) override {
    while (!into.empty()) {
      const ssize_t got = ::pread(file_, into.data(), into.size(), static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return Status::from_errno(errno);
      if (got == 0) break;  // the end of the file
      offset += static_cast<std::uint64_t>(got);
      into = into.subspan(static_cast<std::size_t>(got));
    }
    std::ranges::fill(into, std::byte{0});
    return {};
  }

  Status write(std::uint64_t offset, std::span<const std::byte> from) override {
    while (!from.empty()) {
      const ssize_t put = ::pwrite(file_, from.data(), from.size(), static_cast<off_t>(offset));
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) return Status::from_errno(put < 0 ? errno : EIO);
      offset += static_cast<std::uint64_t>(put);
      from = from.subspan(static_cast<std::size_t>(put));
    }
    return {};
  }

 private:
  const int file_;
  io::GapLock* const gaps_;
  bool sieves_ = false;
  std::optional<io::ExtentLock> lock_;
};

}  // namespace

Status Sieve::write(int file, PieceSource& source, const SieveBounds& sweep) {
  const std::lock_guard lock(mutex_);
  LocalFile local(file, gaps_ ? &*gaps_ : nullptr);
  pieces_.clear();
  const Status status = for_each_batch(
      source, [&](std::span<const Piece> batch) -> Status { return take(local, batch, sweep); });
  return status.ok() ? put(local) : status;
}

Status Sieve::write(SievedFile& file, std::span<const Piece> pieces, const SieveBounds& sweep) {
  const std::lock_guard lock(mutex_);
  pieces_.clear();
  const Status status = take(file, pieces, sweep);
  return status.ok() ? put(file) : status;
}

Status Sieve::take(SievedFile& file, std::span<const Piece> batch, const SieveBounds& sweep) {
  for (Piece piece : batch) {
    while (piece.size > 0) {
      const bool follows = !pieces_.empty() && piece.offset >= hull_.end &&
                           piece.offset - hull_.end <= sweep.gap &&
                           piece.offset < hull_.begin + sweep.window && pieces_.size() < most_pieces;
      if (!follows) {
        if (const Status before = put(file); !before.ok()) return before;
        hull_.begin = piece.offset;
      }
      const std::uint64_t size = std::min(piece.size, hull_.begin + sweep.window - piece.offset);
      pieces_.push_back({piece.offset, piece.data, size});
      hull_.end = piece.offset + size;
      piece = {hull_.end, static_cast<const std::byte*>(piece.data) + size, piece.size - size};
    }
  }
  return {};
}

// Writes the current part.
Status Sieve::put(SievedFile& file) {
  if (pieces_.empty()) return {};
  std::uint64_t bytes = 0;
  for (const Piece& piece : pieces_) bytes += piece.size;
  const bool holes = bytes < hull_.size(), alone = pieces_.size() == 1;
  const bool locked = file.lock(hull_, alone);
  const Status status = alone || (holes && !locked) ? put_pieces(file) : put_part(file, holes);
  file.unlock();
  pieces_.clear();
  return status;
}

Status Sieve::put_pieces(SievedFile& file) {
  for (const Piece& piece : pieces_) {
    const std::span<const std::byte> data(static_cast<const std::byte*>(piece.data), piece.size);
    if (const Status status = file.write(piece.offset, data); !status.ok()) return status;
  }
  return {};
}

Status Sieve::put_part(SievedFile& file, bool holes) {
  if (part_.size() < hull_.size()) part_.resize(hull_.size());
  const std::span<std::byte> part(part_.data(), hull_.size());
  if (holes) {
    if (const Status status = file.read(hull_.begin, part); !status.ok()) return status;
  }
  for (const Piece& piece : pieces_)
    std::memcpy(part.data() + (piece.offset - hull_.begin), piece.data, piece.size);
  return file.write(hull_.begin, part);
}

}  // namespace millrace::client
