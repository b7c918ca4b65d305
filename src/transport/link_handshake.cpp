// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/link_handshake.hpp"

#include <cstring>
#include <utility>

namespace millrace::transport {

LinkHandshake::LinkHandshake(const LinkKey& key, const LinkIntroduction& me)
    : connects_(true),
      state_(State::challenge_awaited),
      introduction_(me),
      key_(key),
      hello_(make_hello(me)) {
  say(&hello_, sizeof hello_);
}

LinkHandshake::LinkHandshake(LinkLookup lookup)
    : connects_(false), state_(State::hello_awaited), lookup_(std::move(lookup)) {}

void LinkHandshake::say(const void* message, std::size_t bytes) {
  std::memcpy(out_.data(), message, bytes);
  size_ = bytes;
  sent_ = 0;
}

std::span<const std::byte> LinkHandshake::outgoing() const {
  return std::span(out_).subspan(sent_, size_ - sent_);
}

std::size_t LinkHandshake::awaited_bytes() const {
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

LinkError LinkHandshake::received(std::size_t bytes) {
  if (bytes == 0) return {};
  received_ += bytes;
  if (received_ < awaited_bytes()) return {};
  received_ = 0;
  // An honest peer answers only after it has received the whole message.
  if (!outgoing().empty()) return {Code::refused, "the peer answered before it was asked"};
  switch (state_) {
    case State::hello_awaited:
      return take_hello();
    case State::challenge_awaited:
      return take_challenge();
    default:
      return take_proof();
  }
}

LinkError LinkHandshake::take_hello() {
  std::memcpy(&hello_, in_.data(), sizeof hello_);
  if (!is_hello(hello_)) return {Code::refused, "the peer is another program"};
  introduction_ = introduction_of(hello_);
  if (introduction_.version != protocol_version)
    return {Code::unsupported, "the peer has another version of the protocol"};
  key_ = lookup_(introduction_);
  if (!key_) return {Code::refused, "the peer names a group or a node that this agent does not serve"};
  challenge_ = make_challenge(*key_, hello_);
  state_ = State::proof_awaited;
  say(&challenge_, sizeof challenge_);
  return {};
}

LinkError LinkHandshake::take_challenge() {
  std::memcpy(&challenge_, in_.data(), sizeof challenge_);
  if (!verify_challenge(*key_, hello_, challenge_))
    return {Code::refused, "the accepting peer does not hold the key"};
  const LinkProof proof = make_proof(*key_, hello_, challenge_);
  say(&proof, sizeof proof);
  state_ = State::done;
  return {};
}

LinkError LinkHandshake::take_proof() {
  LinkProof proof;
  std::memcpy(&proof, in_.data(), sizeof proof);
  if (!verify_proof(*key_, hello_, challenge_, proof))
    return {Code::refused, "the connecting peer does not hold the key"};
  state_ = State::done;
  return {};
}

LinkHandshake::Seals LinkHandshake::take_seals() {
  const LinkSeals seals = derive_seals(*key_, hello_, challenge_);
  forget_key();
  return connects_ ? Seals{seals.from_connecting, seals.from_accepting}
                   : Seals{seals.from_accepting, seals.from_connecting};
}

void LinkHandshake::forget_key() {
  key_.reset();
  lookup_ = nullptr;
}

}  // namespace millrace::transport
