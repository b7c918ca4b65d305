// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/link.hpp"

#include <algorithm>
#include <utility>

#include "transport/ring.hpp"

namespace millrace::transport {

namespace {

LinkLimits bounded(LinkLimits limits) {
  limits.record_max_bytes = std::min(limits.record_max_bytes, max_link_record_bytes);
  limits.batch_bytes = std::min(limits.batch_bytes, max_batch_body_bytes);
  return limits;
}

}  // namespace

Link::Link(LinkHandshake handshake, const LinkLimits& limits)
    : limits_(bounded(limits)), handshake_(std::move(handshake)), outgoing_(limits_), incoming_(limits_) {}

Link Link::connecting(const LinkKey& key, const LinkIntroduction& me, const LinkLimits& limits) {
  return Link(LinkHandshake(key, me), limits);
}

Link Link::accepting(LinkLookup lookup, const LinkLimits& limits) {
  return Link(LinkHandshake(std::move(lookup)), limits);
}

// Forgets all keys. A frame that the caller has still to consume() stays.
void Link::fail(const LinkError& error) {
  error_ = error;
  handshake_.forget_key();
  outgoing_ = OutgoingBatches(limits_);
  incoming_.verify_with(BatchSeal());
}

// --- Sending ---

void Link::put(const FrameHeader& header, std::span<const std::byte> payload) {
  if (!alive()) return;
  if (payload.size() > limits_.record_max_bytes)
    return fail({Code::invalid, "a record is larger than this link may carry"});
  outgoing_.put(header, payload);
}

void Link::put_reply(std::uint32_t file, std::uint32_t request, Status status) {
  const WireStatus reply = WireStatus::of(status);
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

std::span<const std::byte> Link::outgoing() const {
  if (!alive()) return {};
  const std::span<const std::byte> first = handshake_.outgoing();
  return first.empty() ? outgoing_.outgoing() : first;
}

void Link::sent(std::size_t bytes) {
  if (bytes == 0 || !alive()) return;
  if (!handshake_.outgoing().empty()) {
    handshake_.sent(bytes);
  } else {
    outgoing_.sent(bytes);
  }
}

// --- Receiving ---

std::span<std::byte> Link::space() {
  if (!alive()) return {};
  // A peer without a proof gets no buffer, but only the memory for the next message of the handshake.
  return handshake_.done() ? incoming_.space() : handshake_.space();
}

void Link::received(std::size_t bytes) {
  if (!alive()) return;
  if (handshake_.done()) return incoming_.received(bytes);
  if (const LinkError error = handshake_.received(bytes); !error.status.ok()) return fail(error);
  if (!handshake_.done()) return;
  const LinkHandshake::Seals seals = handshake_.take_seals();
  outgoing_.sign_with(seals.sending);
  incoming_.verify_with(seals.receiving);
}

bool Link::next(FrameHeader& frame, const std::byte*& payload) {
  if (!alive()) return false;
  if (incoming_.next(frame, payload)) return true;
  if (incoming_.malformed() != nullptr) fail({Code::corrupt, incoming_.malformed()});
  return false;
}

}  // namespace millrace::transport
