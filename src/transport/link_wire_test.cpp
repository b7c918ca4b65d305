// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
//
// Checks the exact bytes of a link, on which agents of two builds with one protocol_version must agree. A
// Python program computed the expected values, without this code or libsodium. It used BLAKE2b of hashlib,
// and its own ChaCha20 and Poly1305 after RFC 8439.
#include "transport/link_wire.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "transport/testing/link_rig.hpp"

namespace millrace::transport {
namespace {

std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    text += "0123456789abcdef"[std::to_integer<unsigned>(byte) >> 4];
    text += "0123456789abcdef"[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

struct Transcript {
  LinkKey key = testing::test_key();
  LinkHello hello = make_hello({0x1122334455667788u, 3, 5, 7, 3});
  LinkChallenge challenge{};

  Transcript() {
    std::fill(std::begin(hello.nonce), std::end(hello.nonce), std::byte{1});
    std::fill(std::begin(challenge.nonce), std::end(challenge.nonce), std::byte{2});
    sign_challenge(key, hello, challenge);
  }
};

TEST(LinkWire, HelloIsAsDocumented) {
  const Transcript fixed;
  EXPECT_EQ(hex(std::as_bytes(std::span(&fixed.hello, 1)).first(32)),
            "6d696c6c6c696e6b"
            "03000000"
            "03000000"
            "8877665544332211"
            "05000000"
            "07000000");
}

TEST(LinkWire, ProofsAreAsDocumented) {
  const Transcript fixed;
  EXPECT_EQ(hex(fixed.challenge.mac), "4287ad73fbc7c9293ed63a7e39f63d889f9ba11fe36999c5989178d2b04c62d0");
  const LinkProof proof = make_proof(fixed.key, fixed.hello, fixed.challenge);
  EXPECT_EQ(hex(proof.mac), "cad7f12acdb131954f6e3cc12f66e133b0e95aa24207dd9a0b089b5c2bb38429");
}

TEST(LinkWire, TagsAreAsDocumented) {
  const Transcript fixed;
  LinkSeals seals = derive_seals(fixed.key, fixed.hello, fixed.challenge);
  const BatchHeader header{48, 0, {}};
  testing::Bytes batch(sizeof header + 48);
  std::memcpy(batch.data(), &header, sizeof header);
  for (std::size_t i = 0; i < 48; ++i) batch[sizeof header + i] = static_cast<std::byte>(i);
  const auto tag = [&](BatchSeal& seal) {
    seal.sign(batch);
    return hex(std::span(batch).subspan(offsetof(BatchHeader, tag), tag_bytes));
  };
  EXPECT_EQ(tag(seals.from_connecting), "42d88cd5c57ed3306288dee4097665a9");
  EXPECT_EQ(tag(seals.from_connecting), "b96e82607085f6cbeebbb201b8019515");
  EXPECT_EQ(tag(seals.from_accepting), "a623efc4bf81ec7e86516b41e406b624");
  EXPECT_EQ(tag(seals.from_accepting), "d6647a58cd061d18b2b53f16f241e787");
}

}  // namespace
}  // namespace millrace::transport
