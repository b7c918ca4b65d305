// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "transport/link.hpp"
#include "transport/ring.hpp"

// Links in memory for tests and the fuzzer: pairs of links, and a dishonest peer that holds the key.
namespace millrace::transport::testing {

using Bytes = std::vector<std::byte>;

struct Frame {
  FrameHeader header;
  Bytes payload;
};

inline LinkKey test_key(unsigned char fill = 0x5a) {
  LinkKey::Bytes bytes;
  bytes.fill(std::byte{fill});
  return LinkKey(bytes);
}

inline LinkIntroduction test_introduction() { return {0x1122334455667788u, 3, 5, 7}; }

// A lookup that serves only the group of test_introduction(), as node 5.
inline LinkLookup test_lookup(unsigned char fill = 0x5a) {
  return [fill](const LinkIntroduction& peer) -> std::optional<LinkKey> {
    if (peer.group != test_introduction().group || peer.to != test_introduction().to) return std::nullopt;
    return test_key(fill);
  };
}

inline FrameHeader write_header(std::uint64_t offset, std::span<const std::byte> payload) {
  FrameHeader header{};
  header.kind = Kind::write;
  header.file = 1;
  header.offset = offset;
  header.checksum = record_checksum(payload.data(), static_cast<std::uint32_t>(payload.size()), offset);
  return header;
}

inline Bytes pattern(std::size_t size, unsigned seed) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>((i * 31 + seed * 97) >> 1);
  return bytes;
}

// Takes at most `most` bytes out of a link.
inline Bytes drain(Link& link, std::size_t most = SIZE_MAX) {
  Bytes all;
  while (all.size() < most) {
    std::span<const std::byte> out = link.outgoing();
    if (out.empty()) break;
    out = out.first(std::min(out.size(), most - all.size()));
    all.insert(all.end(), out.begin(), out.end());
    link.sent(out.size());
  }
  return all;
}

// Gives bytes to a link until it takes no more. Returns the number taken.
inline std::size_t feed(Link& link, std::span<const std::byte> bytes) {
  std::size_t taken = 0;
  while (taken < bytes.size()) {
    const std::span<std::byte> space = link.space();
    if (space.empty()) break;
    const std::size_t n = std::min(space.size(), bytes.size() - taken);
    std::memcpy(space.data(), bytes.data() + taken, n);
    link.received(n);
    taken += n;
  }
  return taken;
}

inline std::vector<Frame> take(Link& link) {
  std::vector<Frame> frames;
  FrameHeader header;
  const std::byte* payload = nullptr;
  while (link.next(header, payload)) {
    frames.push_back({header, Bytes(payload, payload + header.length)});
    link.consume();
  }
  return frames;
}

struct LinkPair {
  Link client = Link::connecting(test_key(), test_introduction());
  Link server = Link::accepting(test_lookup());

  // Moves hello, challenge and proof between the ends.
  void shake_hands() {
    feed(server, drain(client));
    feed(client, drain(server));
    feed(server, drain(client));
  }
};

// A peer that connects with the right key, and then sends batches of any bytes.
class KeyHolder {
 public:
  explicit KeyHolder(Link& link) : link_(link) {
    const LinkHello hello = make_hello(test_introduction());
    feed(link_, std::as_bytes(std::span(&hello, 1)));
    LinkChallenge challenge{};
    const Bytes answer = drain(link_);
    if (answer.size() != sizeof challenge) return;
    std::memcpy(&challenge, answer.data(), sizeof challenge);
    const LinkProof proof = make_proof(test_key(), hello, challenge);
    feed(link_, std::as_bytes(std::span(&proof, 1)));
    seals_ = derive_seals(test_key(), hello, challenge);
  }

  // Makes a batch that verifies, if its header is valid.
  Bytes batch(std::span<const std::byte> body) {
    return batch(body, {static_cast<std::uint32_t>(body.size()), 0, {}});
  }
  Bytes batch(std::span<const std::byte> body, const BatchHeader& header) {
    Bytes bytes(sizeof header + body.size());
    std::memcpy(bytes.data(), &header, sizeof header);
    if (!body.empty()) std::memcpy(bytes.data() + sizeof header, body.data(), body.size());
    seals_.from_connecting.sign(bytes);
    return bytes;
  }
  void send(std::span<const std::byte> body) { feed(link_, batch(body)); }

 private:
  Link& link_;
  LinkSeals seals_;
};

}  // namespace millrace::transport::testing
