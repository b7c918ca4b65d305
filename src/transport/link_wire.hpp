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

// The messages of two agents around the frames, and the proofs of who they are.
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
// A MAC is BLAKE2b, keyed by the group's key, of a label and of all messages before it. Each message has its
// own label, so none can be sent back to its sender. The MAC includes both nonces, so none can be used again.
// Each direction gets a session key of its own from the same transcript.
//
// Data is authenticated, not encrypted: the file system sends the same bytes in the clear, and encryption
// would cost as much again as the rest of the pipeline.
namespace millrace::transport {

// All numbers are little endian, and structs are sent as they lie in memory.
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

  // From the system's generator.
  static LinkKey random();
  const Bytes& bytes() const { return bytes_; }

 private:
  Bytes bytes_;
};

// The connecting side's own index and that of its peer. Addresses may be ambiguous (many hosts have a bridge
// with the same private address), so the accepting side has to agree that it is `to`.
struct LinkIntroduction {
  std::uint64_t group = 0;  // which key: agents that serve one job, or one open of a file
  std::uint32_t from = 0;   // index of the node that connects
  std::uint32_t to = 0;     // index of the node that accepts
  std::uint32_t lane = 0;   // which of the links between these two: a file, a file server
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

inline constexpr std::size_t handshake_message_bytes = 64;  // the largest

// Precedes a run of frames, each padded to 8 bytes (frame.hpp).
//
//   | length u32 | flags u32 | tag 16 B | body, `length` bytes: | FrameHeader | payload | 0..7 B | ... |
//
// The tag is Poly1305 of everything else in the batch, with a key that is used once: the first 32 bytes of
// ChaCha20 with the direction's session key and the batch's number as nonce. So a batch that was altered,
// left out, repeated or moved does not verify.
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

  // `batch` is a header with length and flags, and its body; the tag is written or compared. Counts it.
  void sign(std::span<std::byte> batch);
  [[nodiscard]] bool verify(std::span<const std::byte> batch);

 private:
  std::array<std::byte, tag_bytes> next_tag(std::span<const std::byte> batch);

  LinkKey key_{LinkKey::Bytes{}};
  std::uint64_t sequence_ = 0;
};

// The MACs of a handshake, and the session keys from it; `key` is the group's.
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

// With a fresh nonce.
LinkHello make_hello(const LinkIntroduction& introduction);
LinkChallenge make_challenge(const LinkKey& key, const LinkHello& hello);
[[nodiscard]] bool is_hello(const LinkHello& hello);  // by its magic
LinkIntroduction introduction_of(const LinkHello& hello);

}  // namespace millrace::transport
