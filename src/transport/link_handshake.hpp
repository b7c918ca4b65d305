// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>

#include "transport/link_wire.hpp"

namespace millrace::transport {

// Finds the key of the group that a hello names, if this agent serves that group and is the node in the
// hello. An empty answer refuses the peer. The function must not change anything, because the peer has not
// yet proved that it holds the key.
using LinkLookup = std::function<std::optional<LinkKey>(const LinkIntroduction&)>;

// Why a link has ended.
struct LinkError {
  Status status;
  const char* reason = "";  // a few words for the log
};

// Either end of the messages by which two agents prove to each other that they hold a group's key. It trusts
// no input, and keeps at most one message of fixed size from the peer. The peer may answer only after the
// whole message before has been sent. Owned by one Link. Not thread safe.
class LinkHandshake {
 public:
  LinkHandshake(const LinkKey& key, const LinkIntroduction& me);  // the connecting end
  explicit LinkHandshake(LinkLookup lookup);                      // the accepting end

  // True if the peer has proved that it holds the key. The connecting end's own proof may still be outgoing.
  bool done() const { return state_ == State::done; }
  bool names_group() const { return state_ == State::proof_awaited || done(); }
  const LinkIntroduction& introduction() const { return introduction_; }

  // The bytes to write now; empty if there are none.
  std::span<const std::byte> outgoing() const;
  void sent(std::size_t bytes) { sent_ += bytes; }
  // The memory for the rest of the next message.
  std::span<std::byte> space() { return std::span(in_).subspan(received_, awaited_bytes() - received_); }
  // Takes the message, if it is complete.
  LinkError received(std::size_t bytes);

  struct Seals {
    BatchSeal sending;
    BatchSeal receiving;
  };
  // Call it once, when done(). Forgets the key.
  Seals take_seals();
  // No more messages follow.
  void forget_key();

 private:
  enum class State { hello_awaited, challenge_awaited, proof_awaited, done };

  void say(const void* message, std::size_t bytes);
  std::size_t awaited_bytes() const;
  LinkError take_hello();
  LinkError take_challenge();
  LinkError take_proof();

  bool connects_;
  State state_;
  LinkIntroduction introduction_;
  std::optional<LinkKey> key_;
  LinkLookup lookup_;
  LinkHello hello_{};
  LinkChallenge challenge_{};
  std::array<std::byte, handshake_message_bytes> in_{};
  std::array<std::byte, handshake_message_bytes> out_{};
  std::size_t received_ = 0;
  std::size_t size_ = 0;  // of the message in out_
  std::size_t sent_ = 0;
};

}  // namespace millrace::transport
