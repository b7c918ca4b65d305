// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <new>

#include "base/checksum.hpp"
#include "transport/layout.hpp"
#include "transport/memory.hpp"

// One rank's way to the agent: a ring of bytes in shared memory with one producer (the rank) and one consumer
// (the agent). The consumer checks all numbers of the producer, like bytes from a socket.
namespace millrace::transport {

// The checksum of a record's payload and offset. It changes if the same payload has another offset. The
// offset is mixed in here and not by XXH3's seed, because a seed costs as much as hashing 256 bytes.
inline std::uint64_t record_checksum(const void* data, std::uint32_t length, std::uint64_t offset) {
  return checksum(data, length) ^ (offset * 0x9E3779B97F4A7C15u);
}

// The rank's end of a ring. Owns the memory and its mappings. Not thread safe.
class Producer {
 public:
  // Makes the memory of a ring; ring_bytes is a power of two in [min_ring_bytes, max_ring_bytes].
  static Result<Producer> create(std::uint64_t ring_bytes);

  int memory() const { return memory_.get(); }
  std::uint64_t ring_bytes() const { return ring_bytes_; }
  std::uint64_t max_payload() const { return transport::max_payload(ring_bytes_); }

  // Copies one record into the ring, without publishing it. False if the ring has no room now.
  bool append(const FrameHeader& header, const void* data) {
    std::byte* const payload = reserve(header.length);
    if (payload == nullptr) return false;
    if (data != nullptr) std::memcpy(payload, data, header.length);
    commit(header, data);
    return true;
  }

  // Memory for the payload of the next record, of at most `length` bytes. nullptr if the ring has no room
  // now.
  std::byte* reserve(std::uint64_t length) {
    const std::uint64_t need = record_bytes(length);
    if (tail_ + need - head_ > ring_bytes_ && !has_room(need)) return nullptr;
    return ring_.data() + (tail_ & (ring_bytes_ - 1)) + sizeof(FrameHeader);
  }
  // Appends the record whose payload is in the memory of reserve(), without publishing it. `data` are the
  // same bytes, there or elsewhere.
  void commit(const FrameHeader& header, const void* data) {
    std::byte* const at = ring_.data() + (tail_ & (ring_bytes_ - 1));
    // Stores the fields one by one from registers. A copy of the whole struct would wait for its fields,
    // which the caller has just stored.
    auto* const out = new (at) FrameHeader;
    out->length = header.length;
    out->kind = header.kind;
    out->reserved = 0;
    out->file = header.file;
    out->request = header.request;
    out->offset = header.offset;
    out->span = header.span;
    out->checksum = record_checksum(data, header.length, header.offset);
    tail_ += record_bytes(header.length);
  }

  // Calls visit(frame, payload) for every published record that the consumer has not released.
  template <class Visit>
  void each_kept(Visit&& visit) const {
    const std::uint64_t tail = header().tail.load(std::memory_order_acquire);
    std::uint64_t at = header().head.load(std::memory_order_acquire);
    while (at < tail && tail - at <= ring_bytes_) {
      FrameHeader frame;
      const std::byte* const place = ring_.data() + (at & (ring_bytes_ - 1));
      std::memcpy(&frame, place, sizeof frame);
      if (record_bytes(frame.length) > tail - at) return;
      visit(frame, place + sizeof frame);
      at += record_bytes(frame.length);
    }
  }

  // Appended bytes that the consumer cannot see yet.
  std::uint64_t unpublished() const { return tail_ - published_; }

  // Shows all appended records to the consumer. The store is sequentially consistent. So if the agent writes
  // a flag and then drains the ring, it sees these records, or a later read of the rank sees the flag.
  void publish() {
    published_ = tail_;
    header().tail.store(tail_, std::memory_order_seq_cst);
  }

  // An upper bound of the waiting bytes. The consumer may have taken some of them meanwhile.
  std::uint64_t fill() {
    if (tail_ - head_ >= wake_threshold(ring_bytes_)) head_ = header().head.load(std::memory_order_acquire);
    return tail_ - head_;
  }

  // Waits until the consumer has made room. sleep(word) sleeps while the futex word is 1, or for one slice of
  // time. True if the head has moved.
  template <class Sleep>
  bool wait_room(Sleep&& sleep) {
    const std::uint64_t before = head_;
    if (begin_wait()) {
      sleep(header().producer_waits);
      end_wait();
    }
    return head_ != before;
  }

  RingHeader& header() const { return *reinterpret_cast<RingHeader*>(header_.data()); }

 private:
  bool has_room(std::uint64_t need) {
    head_ = header().head.load(std::memory_order_acquire);
    return tail_ + need - head_ <= ring_bytes_;
  }

  // True: the consumer will wake this end when half of the ring is free. False: half of the ring is free now.
  bool begin_wait();
  void end_wait();

  Fd memory_;
  Mapping header_;
  Mapping ring_;
  std::uint64_t ring_bytes_ = 0;
  std::uint64_t tail_ = 0;
  std::uint64_t published_ = 0;
  std::uint64_t head_ = 0;  // the head at the last read, never ahead of the true head
};

// The agent's end of a ring. Stays within the ring for any contents of the ring. Not thread safe.
class Consumer {
 public:
  // Maps the memory of a ring that a client has sent.
  static Result<Consumer> attach(Fd memory, std::uint64_t ring_bytes);

  // Takes a snapshot of the published bytes. False if the positions are invalid. Then drop the client.
  bool snapshot() {
    const std::uint64_t tail = header().tail.load(std::memory_order_seq_cst);
    if (tail - head_ > ring_bytes_ || tail - head_ < limit_ - head_) return false;
    limit_ = tail;
    return true;
  }

  bool empty() const { return head_ == limit_; }
  // Published bytes that are not consumed, including those after the last snapshot.
  std::uint64_t fill() const { return header().tail.load(std::memory_order_seq_cst) - head_; }
  bool producer_waits() const { return header().producer_waits.load(std::memory_order_relaxed) != 0; }
  // True if the producer has published a request that is not consumed.
  bool has_request() const {
    return header().requests.load(std::memory_order_seq_cst) != requests_ && fill() != 0;
  }

  // The next record of the snapshot, which must not be empty. False if it is malformed. Then drop the client.
  // `payload` stays valid until consume().
  bool peek(FrameHeader& frame, const std::byte*& payload) const {
    const std::byte* at = ring_.data() + (head_ & (ring_bytes_ - 1));
    const std::uint64_t waiting = limit_ - head_;
    if (waiting < sizeof frame) return false;
    std::memcpy(&frame, at, sizeof frame);
    payload = at + sizeof frame;
    return frame.length <= max_payload(ring_bytes_) && record_bytes(frame.length) <= waiting;
  }

  void consume(const FrameHeader& frame) {
    head_ += record_bytes(frame.length);
    requests_ += frame.request != 0 ? 1 : 0;
    if (head_ - offered_ >= ring_bytes_ / 8) release();
  }
  // The position of the next record. It only grows.
  std::uint64_t position() const { return head_; }
  // release() keeps the bytes from this position on, until the next call. So the producer still has them if
  // this process dies.
  void keep_from(std::uint64_t position) { keep_ = position; }

  // Makes notes of the records from `begin` to `end`, which are places between records that this end keeps,
  // of the files for which `is` is true. each_kept() then has no record there.
  template <class Is>
  void void_records(std::uint64_t begin, std::uint64_t end, Is&& is) {
    while (begin < end) {
      std::byte* const at = ring_.data() + (begin & (ring_bytes_ - 1));
      FrameHeader frame{};
      std::memcpy(&frame, at, sizeof frame);
      if (record_bytes(frame.length) > end - begin) return;  // the producer has changed it
      if (carries_records(frame.kind) && is(frame.file)) {
        frame.kind = Kind::note;
        std::memcpy(at, &frame, sizeof frame);
      }
      begin += record_bytes(frame.length);
    }
  }

  // Gives consumed bytes back to the producer and wakes it if it waits and half of the ring is free.
  void release();

  void answer(std::uint32_t request, Status status);

  RingHeader& header() const { return *reinterpret_cast<RingHeader*>(header_.data()); }

 private:
  Mapping header_;
  Mapping ring_;
  std::uint64_t ring_bytes_ = 0;
  std::uint64_t head_ = 0;
  std::uint64_t shown_ = 0;  // the head that the producer sees
  std::uint64_t offered_ = 0;
  std::uint64_t keep_ = UINT64_MAX;
  std::uint64_t limit_ = 0;  // end of the snapshot
  std::uint32_t requests_ = 0;
};

}  // namespace millrace::transport
