// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/link_batches.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace millrace::transport {

namespace {

// The receive buffer has twice the size of the largest batch, so that the rest of a batch is seldom moved.
constexpr std::size_t receive_bytes = 2 * max_batch_bytes;

// Batches kept to be used again.
constexpr std::size_t max_spare = 16;

}  // namespace

std::byte* OutgoingBatches::grow(std::size_t bytes) {
  if (open_.memory != nullptr && open_.bytes + bytes > sizeof(BatchHeader) + limits_.batch_bytes) flush();
  if (open_.memory == nullptr) {
    if (spare_.empty()) {
      const std::size_t body = std::max(limits_.batch_bytes, record_bytes(limits_.record_max_bytes));
      open_.memory = std::make_unique_for_overwrite<std::byte[]>(sizeof(BatchHeader) + body);
    } else {
      open_.memory = std::move(spare_.back());
      spare_.pop_back();
    }
    open_.bytes = sizeof(BatchHeader);
    backlog_bytes_ += sizeof(BatchHeader);
  }
  std::byte* const at = open_.memory.get() + open_.bytes;
  open_.bytes += bytes;
  backlog_bytes_ += bytes;
  return at;
}

void OutgoingBatches::put(const FrameHeader& header, std::span<const std::byte> payload) {
  const std::size_t bytes = record_bytes(payload.size());
  std::byte* const at = grow(bytes);
  FrameHeader out = header;
  out.length = static_cast<std::uint32_t>(payload.size());
  std::memcpy(at, &out, sizeof out);
  if (!payload.empty()) std::memcpy(at + sizeof out, payload.data(), payload.size());
  // The padding is zeros, so that no old bytes of the buffer go to another node.
  const std::size_t used = sizeof out + payload.size();
  std::memset(at + used, 0, bytes - used);
}

void OutgoingBatches::flush() {
  if (open_.memory == nullptr) return;
  BatchHeader header{};
  header.length = static_cast<std::uint32_t>(open_.bytes - sizeof header);
  std::memcpy(open_.memory.get(), &header, sizeof header);
  if (seal_) sign(open_);
  closed_.push_back(std::exchange(open_, {}));
}

void OutgoingBatches::sign_with(const BatchSeal& seal) {
  seal_ = seal;
  for (Batch& batch : closed_) sign(batch);
}

std::span<const std::byte> OutgoingBatches::outgoing() const {
  if (!seal_ || closed_.empty()) return {};
  const Batch& front = closed_.front();
  return {front.memory.get() + front_sent_, front.bytes - front_sent_};
}

void OutgoingBatches::sent(std::size_t bytes) {
  front_sent_ += bytes;
  backlog_bytes_ -= bytes;
  if (front_sent_ < closed_.front().bytes) return;
  front_sent_ = 0;
  if (spare_.size() < max_spare) spare_.push_back(std::move(closed_.front().memory));
  closed_.pop_front();
}

std::span<std::byte> IncomingBatches::space() {
  if (in_ == nullptr) in_ = std::make_unique_for_overwrite<std::byte[]>(receive_bytes);
  // Verified frames that were not consumed stay in place. Otherwise this makes room for the next batch of any
  // size.
  const bool room = receive_bytes - begin_ >= max_batch_bytes;
  if (begin_ == end_ || (begin_ == verified_ && !room)) {
    std::memmove(in_.get(), in_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = verified_ = 0;
  }
  return {in_.get() + end_, receive_bytes - end_};
}

bool IncomingBatches::reject(const char* why) {
  malformed_ = why;
  return false;
}

// Makes the frames of the next batch available, if the batch is complete and verifies.
bool IncomingBatches::open_batch() {
  const std::size_t there = end_ - begin_;
  BatchHeader header;
  if (there < sizeof header) return false;
  const std::byte* const at = in_.get() + begin_;
  std::memcpy(&header, at, sizeof header);
  if (header.length < sizeof(FrameHeader) || header.length > max_batch_body_bytes || header.length % 8 != 0 ||
      header.flags != 0) {
    return reject("malformed batch header");
  }
  if (there < sizeof header + header.length) return false;
  if (!seal_.verify({at, sizeof header + header.length}))
    return reject("a batch was altered, left out, repeated or moved");
  begin_ += sizeof header;
  verified_ = begin_ + header.length;
  ++batches_;
  return true;
}

bool IncomingBatches::amid_batch() const {
  const std::size_t there = end_ - verified_;
  if (there == 0) return false;
  BatchHeader header;
  if (there < sizeof header) return true;
  std::memcpy(&header, in_.get() + verified_, sizeof header);
  return there < sizeof header + header.length;
}

bool IncomingBatches::next(FrameHeader& frame, const std::byte*& payload) {
  while (malformed_ == nullptr && (begin_ != verified_ || open_batch())) {
    const std::size_t left = verified_ - begin_;
    if (left >= sizeof frame) std::memcpy(&frame, in_.get() + begin_, sizeof frame);
    if (left < sizeof frame || frame.length > record_max_bytes_ || record_bytes(frame.length) > left ||
        !travels_on_links(frame.kind)) {
      return reject("malformed frame");
    }
    payload = in_.get() + begin_ + sizeof frame;
    if (frame.kind != Kind::ping) return true;
    consume();
  }
  return false;
}

void IncomingBatches::consume() {
  FrameHeader frame;
  std::memcpy(&frame, in_.get() + begin_, sizeof frame);
  begin_ += record_bytes(frame.length);
}

}  // namespace millrace::transport
