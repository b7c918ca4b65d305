// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "transport/layout.hpp"

// The handshake of two agents, with the proofs of their identity, and the batches around the frames.
//
//   connecting                                    accepting
//       | hello: who, to whom, nonce                 |
//       |------------------------------------------->|  finds the group's key
//       | challenge: nonce, MAC                      |
//       |<-------------------------------------------|
//       | proof: MAC                                 |
//       |------------------------------------------->|
//       | batch 0, 1, 2...         batch 0, 1, 2...  |
//       |<==========================================>|
//
// A MAC is BLAKE2b over a label and all messages before it, with the group's key. Each message has its own
// label, so an attacker cannot send it back to its sender. The MAC includes both nonces, so an attacker
// cannot replay a message. Each direction has its own session key, which comes from the same messages.
//
// Data is authenticated, not encrypted. The file system sends the same bytes without encryption, and
// encrypting them would cost as much as the rest of the pipeline.
namespace millrace::transport {

// All numbers are little endian, because structs are sent as they are in memory.
static_assert(std::endian::native == std::endian::little, "links need a little-endian host");

inline constexpr std::size_t key_bytes = 32;
inline constexpr std::size_t nonce_bytes = 32;
inline constexpr std::size_t mac_bytes = 32;
inline constexpr std::size_t tag_bytes = 16;

// The secret that all agents of a group share. The destructor wipes it. Not thread safe.
class LinkKey {
 public:
  using Bytes = std::array<std::byte, key_bytes>;

  explicit LinkKey(const Bytes& bytes) : bytes_(bytes) {}
  LinkKey(const LinkKey&) = default;
  LinkKey& operator=(const LinkKey&) = default;
  ~LinkKey();

  // Makes a key with the system's random numbers.
  static LinkKey random();
  const Bytes& bytes() const { return bytes_; }

 private:
  Bytes bytes_;
};

// The group of a link and the nodes at its ends. An address may be ambiguous, because many hosts have a
// bridge with the same private address. So the accepting side checks that it is `to`.
struct LinkIntroduction {
  std::uint64_t group = 0;  // selects the key; a group is the agents of one job, or of one open of a file
  std::uint32_t from = 0;   // index of the node that connects
  std::uint32_t to = 0;     // index of the node that accepts
  std::uint32_t lane = 0;   // which of the links between these two nodes: of a file, of a file server
  std::uint32_t version = protocol_version;
};

struct LinkHello {
  char magic[8];
  std::uint32_t version;
  std::uint32_t from;
  std::uint64_t group;
  std::uint32_t to;
  std::uint32_t lane;
  std::byte nonce[nonce_bytes];
};
static_assert(sizeof(LinkHello) == 64 && std::has_unique_object_representations_v<LinkHello>);

struct LinkChallenge {
  std::byte nonce[nonce_bytes];
  std::byte mac[mac_bytes];
};
static_assert(sizeof(LinkChallenge) == 64 && std::has_unique_object_representations_v<LinkChallenge>);

struct LinkProof {
  std::byte mac[mac_bytes];
};
static_assert(sizeof(LinkProof) == 32);

inline constexpr std::size_t handshake_message_bytes = 64;  // of the largest message

// The header of a batch. The frames follow, each padded to 8 bytes (frame.hpp).
//
//   | length u32 | flags u32 | tag 16 B | body, `length` bytes: | FrameHeader | payload | 0..7 B | ... |
//
// The tag is Poly1305 over the rest of the batch, with a key that is used once. This key is the first 32
// bytes of ChaCha20 with the direction's session key and the batch's number as nonce. So a batch does not
// verify if it was altered or repeated, or if a batch before it is missing.
struct BatchHeader {
  std::uint32_t length;  // of the body: a multiple of 8, at most max_batch_body_bytes
  std::uint32_t flags;   // 0
  std::byte tag[tag_bytes];
};
static_assert(sizeof(BatchHeader) == 24 && std::has_unique_object_representations_v<BatchHeader>);

inline constexpr std::size_t max_link_record_bytes = std::size_t{1} << 20;  // of a payload
inline constexpr std::size_t max_batch_body_bytes = record_bytes(max_link_record_bytes);
inline constexpr std::size_t max_batch_bytes = sizeof(BatchHeader) + max_batch_body_bytes;

// Signs or verifies the batches of one direction, in their order. The destructor wipes the key.
class BatchSeal {
 public:
  BatchSeal() = default;
  explicit BatchSeal(const LinkKey& session_key) : key_(session_key.bytes()) {}

  // `batch` is the header, with length and flags, and the body. Writes or compares the tag, and counts the
  // batch.
  void sign(std::span<std::byte> batch);
  [[nodiscard]] bool verify(std::span<const std::byte> batch);

 private:
  std::array<std::byte, tag_bytes> next_tag(std::span<const std::byte> batch);

  LinkKey key_{LinkKey::Bytes{}};
  std::uint64_t sequence_ = 0;
};

// The MACs and session keys of a handshake. `key` is the group's key.
void sign_challenge(const LinkKey& key, const LinkHello& hello, LinkChallenge& challenge);
[[nodiscard]] bool verify_challenge(const LinkKey& key, const LinkHello& hello,
                                    const LinkChallenge& challenge);
LinkProof make_proof(const LinkKey& key, const LinkHello& hello, const LinkChallenge& challenge);
[[nodiscard]] bool verify_proof(const LinkKey& key, const LinkHello& hello, const LinkChallenge& challenge,
                                const LinkProof& proof);

struct LinkSeals {
  BatchSeal from_connecting;
  BatchSeal from_accepting;
};
LinkSeals derive_seals(const LinkKey& key, const LinkHello& hello, const LinkChallenge& challenge);

// Makes a hello with a fresh nonce.
LinkHello make_hello(const LinkIntroduction& introduction);
LinkChallenge make_challenge(const LinkKey& key, const LinkHello& hello);
[[nodiscard]] bool is_hello(const LinkHello& hello);  // checks the magic number
LinkIntroduction introduction_of(const LinkHello& hello);

}  // namespace millrace::transport
