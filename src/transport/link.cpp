// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/link.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "transport/ring.hpp"

namespace millrace::transport {

namespace {

// The receive buffer has twice the size of the largest batch, so that the rest of a batch is seldom moved.
constexpr std::size_t receive_bytes = 2 * max_batch_bytes;

// Batches kept to be used again.
constexpr std::size_t max_spare = 16;

}  // namespace

Link::Link(const LinkLimits& limits) : limits_(limits) {
  limits_.record_max_bytes = std::min(limits_.record_max_bytes, max_link_record_bytes);
  limits_.batch_bytes = std::min(limits_.batch_bytes, max_batch_body_bytes);
}

Link Link::connecting(const LinkKey& key, const LinkIntroduction& me, const LinkLimits& limits) {
  Link link(limits);
  link.introduction_ = me;
  link.key_ = key;
  link.hello_ = make_hello(me);
  link.state_ = State::challenge_awaited;
  link.say(&link.hello_, sizeof link.hello_);
  return link;
}

Link Link::accepting(LinkLookup lookup, const LinkLimits& limits) {
  Link link(limits);
  link.lookup_ = std::move(lookup);
  link.state_ = State::hello_awaited;
  return link;
}

void Link::fail(Code code, const char* reason) {
  if (state_ == State::failed) return;
  state_ = State::failed;
  status_ = code;
  reason_ = reason;
  key_.reset();
  lookup_ = nullptr;
  sending_ = BatchSeal();
  receiving_ = BatchSeal();
  open_ = {};
  closed_.clear();
  spare_.clear();
  in_.reset();
  backlog_bytes_ = 0;
}

// --- Handshake ---

void Link::say(const void* message, std::size_t bytes) {
  std::memcpy(handshake_out_.data(), message, bytes);
  handshake_size_ = bytes;
  handshake_sent_ = 0;
}

std::size_t Link::awaited_bytes() const {
  switch (state_) {
    case State::hello_awaited:
      return sizeof(LinkHello);
    case State::challenge_awaited:
      return sizeof(LinkChallenge);
    case State::proof_awaited:
      return sizeof(LinkProof);
    default:
      return 0;
  }
}

void Link::take_hello() {
  std::memcpy(&hello_, handshake_in_.data(), sizeof hello_);
  if (!is_hello(hello_)) return fail(Code::refused, "the peer is another program");
  introduction_ = introduction_of(hello_);
  if (introduction_.version != protocol_version)
    return fail(Code::unsupported, "the peer has another version of the protocol");
  key_ = lookup_(introduction_);
  if (!key_) return fail(Code::refused, "the peer names a group or a node that this agent does not serve");
  challenge_ = make_challenge(*key_, hello_);
  state_ = State::proof_awaited;
  say(&challenge_, sizeof challenge_);
}

void Link::take_challenge() {
  // An honest peer answers only after it has received the whole hello.
  if (handshake_sent_ != handshake_size_) return fail(Code::refused, "the peer answered before it was asked");
  std::memcpy(&challenge_, handshake_in_.data(), sizeof challenge_);
  if (!verify_challenge(*key_, hello_, challenge_))
    return fail(Code::refused, "the accepting peer does not hold the key");
  const LinkProof proof = make_proof(*key_, hello_, challenge_);
  say(&proof, sizeof proof);
  const LinkSeals seals = derive_seals(*key_, hello_, challenge_);
  establish(seals.from_connecting, seals.from_accepting);
}

void Link::take_proof() {
  LinkProof proof;
  std::memcpy(&proof, handshake_in_.data(), sizeof proof);
  if (handshake_sent_ != handshake_size_) return fail(Code::refused, "the peer answered before it was asked");
  if (!verify_proof(*key_, hello_, challenge_, proof))
    return fail(Code::refused, "the connecting peer does not hold the key");
  const LinkSeals seals = derive_seals(*key_, hello_, challenge_);
  establish(seals.from_accepting, seals.from_connecting);
}

void Link::establish(const BatchSeal& sending, const BatchSeal& receiving) {
  sending_ = sending;
  receiving_ = receiving;
  state_ = State::established;
  key_.reset();
  lookup_ = nullptr;
  for (Batch& batch : closed_) seal(batch);
}

// --- Sending ---

std::byte* Link::grow(std::size_t bytes) {
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

void Link::put(const FrameHeader& header, std::span<const std::byte> payload) {
  if (state_ == State::failed) return;
  if (payload.size() > limits_.record_max_bytes)
    return fail(Code::invalid, "a record is larger than this link may carry");
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

void Link::put_reply(std::uint32_t file, std::uint32_t request, Status status) {
  const Reply reply = Reply::of(status);
  FrameHeader header{};
  header.kind = Kind::reply;
  header.file = file;
  header.request = request;
  header.checksum = record_checksum(&reply, sizeof reply, 0);
  put(header, std::as_bytes(std::span(&reply, 1)));
}

void Link::put_ping() {
  FrameHeader header{};
  header.kind = Kind::ping;
  put(header, {});
}

void Link::flush() {
  if (open_.memory == nullptr) return;
  BatchHeader header{};
  header.length = static_cast<std::uint32_t>(open_.bytes - sizeof header);
  std::memcpy(open_.memory.get(), &header, sizeof header);
  if (state_ == State::established) seal(open_);
  closed_.push_back(std::exchange(open_, {}));
}

void Link::seal(Batch& batch) { sending_.sign({batch.memory.get(), batch.bytes}); }

std::span<const std::byte> Link::outgoing() const {
  if (state_ == State::failed) return {};
  if (handshake_sent_ != handshake_size_)
    return std::span(handshake_out_).subspan(handshake_sent_, handshake_size_ - handshake_sent_);
  if (state_ != State::established || closed_.empty()) return {};
  const Batch& front = closed_.front();
  return {front.memory.get() + front_sent_, front.bytes - front_sent_};
}

void Link::sent(std::size_t bytes) {
  if (bytes == 0 || state_ == State::failed) return;
  if (handshake_sent_ != handshake_size_) {
    handshake_sent_ += bytes;
    return;
  }
  front_sent_ += bytes;
  backlog_bytes_ -= bytes;
  if (front_sent_ < closed_.front().bytes) return;
  front_sent_ = 0;
  if (spare_.size() < max_spare) spare_.push_back(std::move(closed_.front().memory));
  closed_.pop_front();
}

// --- Receiving ---

std::span<std::byte> Link::space() {
  if (state_ == State::failed) return {};
  // A peer without a proof gets no buffer, but only the memory for the next message of the handshake.
  if (state_ != State::established)
    return std::span(handshake_in_).subspan(handshake_received_, awaited_bytes() - handshake_received_);
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

void Link::received(std::size_t bytes) {
  if (state_ == State::established) end_ += bytes;
  if (state_ == State::established || state_ == State::failed || bytes == 0) return;
  handshake_received_ += bytes;
  if (handshake_received_ < awaited_bytes()) return;
  handshake_received_ = 0;
  switch (state_) {
    case State::hello_awaited:
      return take_hello();
    case State::challenge_awaited:
      return take_challenge();
    default:
      return take_proof();
  }
}

// Makes the frames of the next batch available, if the batch is complete and verifies.
bool Link::open_batch() {
  const std::size_t there = end_ - begin_;
  BatchHeader header;
  if (there < sizeof header) return false;
  const std::byte* const at = in_.get() + begin_;
  std::memcpy(&header, at, sizeof header);
  if (header.length < sizeof(FrameHeader) || header.length > max_batch_body_bytes || header.length % 8 != 0 ||
      header.flags != 0) {
    fail(Code::corrupt, "malformed batch header");
    return false;
  }
  if (there < sizeof header + header.length) return false;
  if (!receiving_.verify({at, sizeof header + header.length})) {
    fail(Code::corrupt, "a batch was altered, left out, repeated or moved");
    return false;
  }
  begin_ += sizeof header;
  verified_ = begin_ + header.length;
  ++batches_;
  return true;
}

bool Link::amid_batch() const {
  const std::size_t there = end_ - verified_;
  if (state_ != State::established || there == 0) return false;
  BatchHeader header;
  if (there < sizeof header) return true;
  std::memcpy(&header, in_.get() + verified_, sizeof header);
  return there < sizeof header + header.length;
}

bool Link::next(FrameHeader& frame, const std::byte*& payload) {
  while (state_ == State::established && (begin_ != verified_ || open_batch())) {
    const std::size_t left = verified_ - begin_;
    if (left >= sizeof frame) std::memcpy(&frame, in_.get() + begin_, sizeof frame);
    if (left < sizeof frame || frame.length > limits_.record_max_bytes || record_bytes(frame.length) > left ||
        !travels_on_links(frame.kind)) {
      fail(Code::corrupt, "malformed frame");
      return false;
    }
    payload = in_.get() + begin_ + sizeof frame;
    if (frame.kind != Kind::ping) return true;
    consume();
  }
  return false;
}

void Link::consume() {
  FrameHeader frame;
  std::memcpy(&frame, in_.get() + begin_, sizeof frame);
  begin_ += record_bytes(frame.length);
}

}  // namespace millrace::transport
