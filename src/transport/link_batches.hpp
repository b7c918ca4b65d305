// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "transport/link_wire.hpp"

namespace millrace::transport {

struct LinkLimits {
  // The largest payload, in both directions; at most max_link_record_bytes.
  std::size_t record_max_bytes = max_link_record_bytes;
  // A batch is closed before it grows beyond this. A larger record has its own batch.
  std::size_t batch_bytes = std::size_t{256} << 10;
};

// The batches of one direction that wait to be sent:
//
//   put() -> | open | -> flush() -> | closed | closed | -> outgoing(), sent()
//
// Closed batches wait until there is a seal to sign them. Owned by one Link. Not thread safe.
class OutgoingBatches {
 public:
  explicit OutgoingBatches(const LinkLimits& limits) : limits_(limits) {}

  // Appends a record to the open batch, and sets header.length from the payload.
  void put(const FrameHeader& header, std::span<const std::byte> payload);
  // Closes the open batch.
  void flush();
  // Signs the closed batches, and all later ones.
  void sign_with(const BatchSeal& seal);

  // Bytes that have not been sent.
  std::size_t backlog_bytes() const { return backlog_bytes_; }
  // The rest of the first closed batch, signed; empty if there is none.
  std::span<const std::byte> outgoing() const;
  void sent(std::size_t bytes);

 private:
  struct Batch {
    std::unique_ptr<std::byte[]> memory;  // header and body
    std::size_t bytes = 0;
  };

  std::byte* grow(std::size_t bytes);
  void sign(Batch& batch) { seal_->sign({batch.memory.get(), batch.bytes}); }

  LinkLimits limits_;
  std::optional<BatchSeal> seal_;
  Batch open_;
  std::deque<Batch> closed_;
  std::vector<std::unique_ptr<std::byte[]>> spare_;  // memory to use again
  std::size_t front_sent_ = 0;                       // of closed_.front()
  std::size_t backlog_bytes_ = 0;
};

// The batches of one direction that arrive, in a buffer of 2 * max_batch_bytes:
//
//   | consumed | frames, verified | not yet verified | free |
//   0        begin_           verified_             end_    receive_bytes
//
// It trusts no input, and returns only frames of verified batches. Owned by one Link. Not thread safe.
class IncomingBatches {
 public:
  explicit IncomingBatches(const LinkLimits& limits) : record_max_bytes_(limits.record_max_bytes) {}

  void verify_with(const BatchSeal& seal) { seal_ = seal; }

  // The memory to receive into; empty while the buffer is full of frames that were not consumed.
  std::span<std::byte> space();
  void received(std::size_t bytes) { end_ += bytes; }

  // Returns the next frame and keeps it until consume(). False if there is none, or if the bytes are
  // malformed.
  [[nodiscard]] bool next(FrameHeader& frame, const std::byte*& payload);
  void consume();
  // What is wrong with the received bytes, or null. Then this object is of no more use.
  const char* malformed() const { return malformed_; }

  // True if a batch has been received in part.
  bool amid_batch() const;
  // The number of batches that were verified so far.
  std::uint64_t batches() const { return batches_; }

 private:
  bool open_batch();
  bool reject(const char* why);

  std::size_t record_max_bytes_;
  BatchSeal seal_;
  std::unique_ptr<std::byte[]> in_;
  std::size_t begin_ = 0;
  std::size_t verified_ = 0;
  std::size_t end_ = 0;
  std::uint64_t batches_ = 0;
  const char* malformed_ = nullptr;
};

}  // namespace millrace::transport
