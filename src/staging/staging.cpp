// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "staging/staging.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>

namespace millrace::staging {

namespace {

constexpr std::size_t slots_max = 64;
constexpr std::uint64_t pieces_min = 8;

// Converts a device's error for the program: EFAULT for a wrong address, EIO for a copy that failed.
Status of_device(Status status) { return {status.code(), status.error() == EFAULT ? EFAULT : EIO}; }

}  // namespace

// A copy under way.
struct Staging::Piece {
  CopyTicket ticket = 0;
  std::size_t bytes = 0;
};

std::size_t Shape::piece_bytes(std::uint64_t request) const {
  const std::uint64_t part = (request / pieces_min + page_bytes - 1) / page_bytes * page_bytes;
  return std::clamp<std::uint64_t>(part, std::min(piece_min, slot_bytes), slot_bytes);
}

ssize_t Moved::count() const {
  if (bytes > 0 || status.ok()) return static_cast<ssize_t>(bytes);
  return status.error() != 0 ? -status.error() : -EIO;
}

Result<std::unique_ptr<Staging>> Staging::create(Device& device, const Shape& shape) {
  if (device.inherited()) return Status(Code::unsupported, EFAULT);
  const Caps caps = device.caps();
  Shape fitting = shape;
  fitting.slots = std::clamp<std::size_t>(shape.slots, 1, std::min(slots_max, caps.in_flight_max));
  fitting.slot_bytes = std::min(shape.slot_bytes, caps.transfer_max);
  if (fitting.slot_bytes == 0) return Code::invalid;
  std::unique_ptr<Staging> staging(new Staging(device, fitting));
  Result<std::unique_ptr<Buffers>> buffers = Buffers::create(fitting.bytes());
  if (!buffers) return buffers.status();
  Result<std::unique_ptr<Queue>> queue = device.open_queue();
  if (!queue) return queue.status();
  staging->queue_ = *std::move(queue);
  staging->pinned_ = device.pin((*buffers)->all());
  staging->buffers_ = *std::move(buffers);
  return staging;
}

Staging::~Staging() {
  if (buffers_ == nullptr) return;
  if (device_.inherited() || retired_) {
    // The parent process uses the slots, or a copy still does.
    buffers_->abandon();
    (void)queue_.release();
    return;
  }
  queue_.reset();  // ends the copies before their memory is freed
  // The device may still have the memory registered, so the memory must not be reused.
  if (pinned_.ok() && !device_.unpin(buffers_->all()).ok()) buffers_->abandon();
}

std::span<std::byte> Staging::slot(std::uint64_t piece, std::size_t bytes) {
  return buffers_->all().subspan(piece % shape_.slots * shape_.slot_bytes, bytes);
}

Status Staging::finish(CopyTicket ticket) {
  const Status status = queue_->wait(ticket);
  if (status.ok()) return status;
  if (status.code() == Code::timeout) retired_ = true;
  return of_device(status);
}

Moved Staging::write_through(Address from, std::uint64_t bytes, End& to) {
  if (retired_) return {0, Status(Code::timeout, EIO)};
  if (const Status marked = queue_->mark(); !marked.ok()) return {0, of_device(marked)};
  if (const Status settled = queue_->settle(); !settled.ok()) return {0, of_device(settled)};
  const std::size_t most = shape_.piece_bytes(bytes);
  std::deque<Piece> under_way;
  std::uint64_t posted = 0;  // pieces, and bytes
  std::uint64_t posted_bytes = 0;
  Status broken;  // after an error here, no copy is posted
  Moved moved;
  while (moved.status.ok()) {
    // A slot is free again when its piece has been written. Copies into the other slots run during that
    // write.
    while (broken.ok() && posted_bytes < bytes && under_way.size() < shape_.slots) {
      const std::size_t size = std::min<std::uint64_t>(most, bytes - posted_bytes);
      const Result<CopyTicket> ticket =
          queue_->post(CopyDirection::to_host, from + posted_bytes, slot(posted, size));
      broken = ticket.ok() ? Status() : of_device(ticket.status());
      if (!ticket) break;
      under_way.push_back({*ticket, size});
      posted_bytes += size;
      ++posted;
    }
    if (under_way.empty()) {
      moved.status = broken;
      break;
    }
    const Piece piece = under_way.front();
    under_way.pop_front();
    moved.status = finish(piece.ticket);
    if (!moved.status.ok()) break;
    const ssize_t written = to.write(slot(posted - under_way.size() - 1, piece.bytes));
    if (written < 0) moved.status = Status::from_errno(static_cast<int>(-written));
    moved.bytes += static_cast<std::uint64_t>(std::max<ssize_t>(written, 0));
    if (written < static_cast<ssize_t>(piece.bytes)) break;
  }
  for (const Piece& piece : under_way) (void)finish(piece.ticket);
  return moved;
}

Moved Staging::read_through(End& from, Address to, std::uint64_t bytes, bool may_wait) {
  if (retired_) return {0, Status(Code::timeout, EIO)};
  if (const Status marked = queue_->mark(); !marked.ok()) return {0, of_device(marked)};
  const std::size_t most = shape_.piece_bytes(bytes);
  std::deque<Piece> under_way;
  std::uint64_t read_bytes = 0;
  Status ended;  // the error that ended the reads; it counts only if all earlier pieces arrive
  Moved moved;
  const auto arrive = [&] {
    const Piece piece = under_way.front();
    under_way.pop_front();
    const Status status = finish(piece.ticket);
    if (moved.status.ok()) moved.status = status;
    if (moved.status.ok()) moved.bytes += piece.bytes;
  };
  for (std::uint64_t piece = 0; read_bytes < bytes; ++piece) {
    if (under_way.size() == shape_.slots) arrive();
    if (!moved.status.ok() || ((piece > 0 || !may_wait) && !from.ready())) break;
    const std::size_t size = std::min<std::uint64_t>(most, bytes - read_bytes);
    const ssize_t got = from.read(slot(piece, size));
    if (got < 0) ended = Status::from_errno(static_cast<int>(-got));
    if (got <= 0) break;
    const auto some = static_cast<std::size_t>(got);
    // settle() comes after the first read, so the program's enqueued work runs during that read.
    const Status settled = piece == 0 ? queue_->settle() : Status();
    const Result<CopyTicket> ticket =
        settled.ok() ? queue_->post(CopyDirection::to_device, to + read_bytes, slot(piece, some)) : settled;
    read_bytes += some;
    if (!ticket) {
      ended = of_device(ticket.status());
      break;
    }
    under_way.push_back({*ticket, some});
    if (some < size) break;
  }
  while (!under_way.empty()) arrive();
  if (moved.bytes < read_bytes) from.unread(read_bytes - moved.bytes);
  if (moved.status.ok()) moved.status = ended;
  return moved;
}

}  // namespace millrace::staging
