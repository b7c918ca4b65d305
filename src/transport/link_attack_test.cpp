// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests of a link with dishonest peers and altered bytes.
#include <gtest/gtest.h>

#include <random>
#include <string_view>

#include "transport/testing/link_rig.hpp"

namespace millrace::transport {
namespace {

using testing::Bytes;
using testing::drain;
using testing::feed;
using testing::KeyHolder;
using testing::LinkPair;
using testing::pattern;
using testing::take;
using testing::write_header;

void put(Link& link, unsigned number) {
  const Bytes payload = pattern(10 + number, number);
  link.put(write_header(number, payload), payload);
  link.flush();
}

Link server() { return Link::accepting(testing::test_lookup()); }
Link client() { return Link::connecting(testing::test_key(), testing::test_introduction()); }

// A failed link has no output, for any input.
void expect_dead(Link& link, Code code) {
  EXPECT_EQ(link.status().code(), code) << link.reason();
  EXPECT_FALSE(link.established());
  EXPECT_TRUE(link.outgoing().empty());
  EXPECT_TRUE(link.space().empty());
  put(link, 1);
  EXPECT_TRUE(link.outgoing().empty());
  EXPECT_EQ(link.backlog_bytes(), 0u);
  EXPECT_TRUE(take(link).empty());
}

TEST(LinkAttack, AcceptingPeerWithAWrongKeyIsRefused) {
  LinkPair pair;
  pair.server = Link::accepting(testing::test_lookup(0x5b));
  pair.shake_hands();
  expect_dead(pair.client, Code::refused);
  EXPECT_FALSE(pair.server.established());
}

TEST(LinkAttack, ConnectingPeerWithAWrongKeyIsRefused) {
  Link link = server();
  const LinkHello hello = make_hello(testing::test_introduction());
  feed(link, std::as_bytes(std::span(&hello, 1)));
  LinkChallenge challenge{};
  const Bytes answer = drain(link);
  ASSERT_EQ(answer.size(), sizeof challenge);
  std::memcpy(&challenge, answer.data(), sizeof challenge);
  const LinkProof proof = make_proof(testing::test_key(0x5b), hello, challenge);
  feed(link, std::as_bytes(std::span(&proof, 1)));
  expect_dead(link, Code::refused);
}

TEST(LinkAttack, GroupsAndNodesThatAreNotServedAreRefused) {
  LinkIntroduction other_group = testing::test_introduction();
  other_group.group ^= 1;
  LinkIntroduction other_node = testing::test_introduction();
  other_node.to ^= 1;
  for (const LinkIntroduction& introduction : {other_group, other_node}) {
    Link link = server();
    Link stranger = Link::connecting(testing::test_key(), introduction);
    feed(link, drain(stranger));
    expect_dead(link, Code::refused);
  }
}

TEST(LinkAttack, AnotherVersionIsUnsupported) {
  LinkIntroduction introduction = testing::test_introduction();
  introduction.version = protocol_version + 1;
  Link link = server();
  Link newer = Link::connecting(testing::test_key(), introduction);
  feed(link, drain(newer));
  expect_dead(link, Code::unsupported);
}

TEST(LinkAttack, OtherProgramsAreRefused) {
  const std::string_view text =
      "GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: a browser, of all things\r\n\r\n";
  ASSERT_GE(text.size(), sizeof(LinkHello));
  Link link = server();
  feed(link, std::as_bytes(std::span(text)));
  expect_dead(link, Code::refused);
  Link other = client();
  drain(other);
  feed(other, std::as_bytes(std::span(text)));
  expect_dead(other, Code::refused);
}

TEST(LinkAttack, ReplayedHandshakeIsRefused) {
  LinkPair pair;
  const Bytes hello = drain(pair.client);
  feed(pair.server, hello);
  const Bytes challenge = drain(pair.server);
  feed(pair.client, challenge);
  put(pair.client, 1);
  const Bytes proof_and_data = drain(pair.client);
  feed(pair.server, proof_and_data);
  ASSERT_EQ(take(pair.server).size(), 1u);

  Link again = server();
  feed(again, hello);
  drain(again);
  feed(again, proof_and_data);
  expect_dead(again, Code::refused);

  Link other = client();
  drain(other);
  feed(other, challenge);
  expect_dead(other, Code::refused);
}

TEST(LinkAttack, ReflectedMessagesAreRefused) {
  Link connecting = client();
  feed(connecting, drain(connecting));
  expect_dead(connecting, Code::refused);

  Link accepting = server();
  Link real = client();
  feed(accepting, drain(real));
  feed(accepting, drain(accepting));  // the link's own challenge as a proof
  expect_dead(accepting, Code::refused);

  LinkPair pair;
  pair.shake_hands();
  put(pair.client, 1);
  feed(pair.client, drain(pair.client));
  EXPECT_TRUE(take(pair.client).empty());
  expect_dead(pair.client, Code::corrupt);
}

TEST(LinkAttack, ChallengeBeforeTheHelloIsOutIsRefused) {
  LinkPair pair;
  Link spy = client();
  feed(pair.server, drain(spy));
  drain(pair.client, 10);
  feed(pair.client, drain(pair.server));
  expect_dead(pair.client, Code::refused);
}

// Sends three batches with one record each to the server, in the given order.
std::size_t delivered(const std::vector<int>& order, Code& code) {
  LinkPair pair;
  pair.shake_hands();
  std::vector<Bytes> batches;
  for (unsigned i = 0; i < 3; ++i) {
    put(pair.client, i);
    batches.push_back(drain(pair.client));
  }
  for (const int one : order) feed(pair.server, batches[static_cast<std::size_t>(one)]);
  const std::size_t frames = take(pair.server).size();
  code = pair.server.status().code();
  return frames;
}

TEST(LinkAttack, ReplayedReorderedAndDroppedBatchesAreRefused) {
  Code code{};
  EXPECT_EQ(delivered({0, 1, 2}, code), 3u);
  EXPECT_EQ(code, Code::ok);
  EXPECT_EQ(delivered({0, 0}, code), 1u);
  EXPECT_EQ(code, Code::corrupt);
  EXPECT_EQ(delivered({0, 1, 0}, code), 2u);
  EXPECT_EQ(code, Code::corrupt);
  EXPECT_EQ(delivered({1}, code), 0u);
  EXPECT_EQ(code, Code::corrupt);
  EXPECT_EQ(delivered({0, 2}, code), 1u);
  EXPECT_EQ(code, Code::corrupt);
}

TEST(LinkAttack, BatchOfAnotherSessionIsRefused) {
  LinkPair one;
  LinkPair two;
  one.shake_hands();
  two.shake_hands();
  put(one.client, 1);
  feed(two.server, drain(one.client));
  EXPECT_TRUE(take(two.server).empty());
  expect_dead(two.server, Code::corrupt);
}

TEST(LinkAttack, TruncatedBatchesAreNeverDelivered) {
  LinkPair whole;
  whole.shake_hands();
  put(whole.client, 5);
  const std::size_t bytes = drain(whole.client).size();
  for (std::size_t length = 0; length < bytes; ++length) {
    LinkPair pair;
    pair.shake_hands();
    put(pair.client, 5);
    const Bytes stream = drain(pair.client);
    feed(pair.server, std::span(stream).first(length));
    EXPECT_TRUE(take(pair.server).empty()) << length;
    EXPECT_TRUE(pair.server.status().ok());
    // Other bytes in place of the rest make the batch invalid.
    feed(pair.server, Bytes(max_batch_bytes, std::byte{0xff}));
    EXPECT_TRUE(take(pair.server).empty()) << length;
    EXPECT_EQ(pair.server.status().code(), Code::corrupt) << length;
  }
}

// Makes a whole exchange with bit `bit` of message `message` changed: 0 hello, 1 challenge, 2 proof, 3 the
// second of three batches. False if there is no such bit.
bool exchange_with_a_flip(int message, std::size_t bit) {
  bool there = false;
  const auto moved = [&](int number, Bytes bytes) {
    if (number == message && bit / 8 < bytes.size()) {
      bytes[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
      there = true;
    }
    return bytes;
  };
  LinkPair pair;
  feed(pair.server, moved(0, drain(pair.client)));
  feed(pair.client, moved(1, drain(pair.server)));
  feed(pair.server, moved(2, drain(pair.client)));
  for (int i = 0; i < 3; ++i) {
    put(pair.client, static_cast<unsigned>(i));
    put(pair.server, static_cast<unsigned>(i));
    feed(pair.server, moved(i == 1 ? 3 : -1, drain(pair.client)));
    feed(pair.client, drain(pair.server));
  }
  const std::vector<testing::Frame> frames = take(pair.server);
  if (!there) return false;
  EXPECT_EQ(frames.size(), message < 3 ? 0u : 1u) << "message " << message << ", bit " << bit;
  for (const testing::Frame& frame : frames) EXPECT_TRUE(frame.payload == pattern(10, 0));
  // If the length has grown, the link waits for more bytes. With them, the batch does not verify.
  feed(pair.server, Bytes(max_batch_bytes, std::byte{0}));
  EXPECT_TRUE(take(pair.server).empty());
  const bool refused = !pair.server.status().ok() || !pair.client.status().ok();
  EXPECT_TRUE(refused) << "message " << message << ", bit " << bit;
  EXPECT_EQ(pair.server.status().code() == Code::corrupt, message == 3);
  return true;
}

TEST(LinkAttack, EveryBitThatIsTurnedOverIsNoticed) {
  const std::size_t sizes[] = {sizeof(LinkHello), sizeof(LinkChallenge), sizeof(LinkProof),
                               sizeof(BatchHeader) + record_bytes(11)};
  for (int message = 0; message < 4; ++message) {
    std::size_t bits = 0;
    while (exchange_with_a_flip(message, bits)) ++bits;
    EXPECT_EQ(bits, 8 * sizes[message]) << "message " << message;
  }
}

TEST(LinkAttack, BatchHeadersThatCanNotBeAreRefusedAtOnce) {
  const Bytes body(48);
  const auto length = static_cast<std::uint32_t>(body.size());
  const BatchHeader headers[] = {
      {0xffffffffu, 0, {}}, {0x80000000u, 0, {}}, {max_batch_body_bytes + 8, 0, {}},
      {length, 1, {}},      {0, 0, {}},           {sizeof(FrameHeader) - 8, 0, {}},
      {length - 1, 0, {}},
  };
  for (const BatchHeader& header : headers) {
    Link link = server();
    KeyHolder peer(link);
    ASSERT_TRUE(link.established());
    const Bytes batch = peer.batch(body, header);
    feed(link, std::span(batch).first(sizeof header));
    EXPECT_TRUE(take(link).empty());
    EXPECT_EQ(link.status().code(), Code::corrupt) << header.length << " " << header.flags;
  }
}

Bytes body_of(const FrameHeader& header, std::size_t payload) {
  Bytes body(sizeof header + payload);
  std::memcpy(body.data(), &header, sizeof header);
  return body;
}

TEST(LinkAttack, MalformedFramesOfAKeyHolderEndTheLink) {
  const auto refused = [](const Bytes& tail, std::size_t record_max = max_link_record_bytes) {
    Link link = Link::accepting(testing::test_lookup(), {record_max, 4096});
    KeyHolder peer(link);
    FrameHeader good = write_header(1, {});
    Bytes body = body_of(good, 0);
    body.insert(body.end(), tail.begin(), tail.end());
    peer.send(body);
    const std::size_t frames = take(link).size();
    const bool ended = link.status().code() == Code::corrupt;
    EXPECT_EQ(frames, ended ? 1u : 2u) << "the frame before is a good one";
    return ended;
  };
  FrameHeader header = write_header(2, {});
  header.length = 8;
  EXPECT_FALSE(refused(body_of(header, 8)));
  EXPECT_TRUE(refused(body_of(header, 8), 7)) << "beyond what the owner allows";
  EXPECT_TRUE(refused(body_of(header, 0))) << "beyond the batch";
  header.length = 9;
  EXPECT_TRUE(refused(body_of(header, 8))) << "its padding is beyond the batch";
  header.length = 0xffffffffu;
  EXPECT_TRUE(refused(body_of(header, 8))) << "a length that wraps around";
  header.length = max_link_record_bytes + 1;
  EXPECT_TRUE(refused(body_of(header, 8)));
  header.length = 8;
  for (const unsigned kind : {0u, static_cast<unsigned>(last_kind) + 1, 0xffffu}) {
    header.kind = static_cast<Kind>(kind);
    EXPECT_TRUE(refused(body_of(header, 8))) << "kind " << kind;
  }
  EXPECT_TRUE(refused(Bytes(8))) << "less than a header";
  EXPECT_TRUE(refused(Bytes(sizeof(FrameHeader) - 8)));
}

TEST(LinkAttack, GarbageIsRefused) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    Bytes garbage(random() % 5000);
    for (std::byte& byte : garbage) byte = static_cast<std::byte>(random());
    Link accepting = server();
    feed(accepting, garbage);
    EXPECT_FALSE(accepting.established()) << "seed " << seed;
    Link connecting = client();
    drain(connecting);
    feed(connecting, garbage);
    EXPECT_FALSE(connecting.established()) << "seed " << seed;
    LinkPair pair;
    pair.shake_hands();
    feed(pair.server, garbage);
    feed(pair.client, garbage);
    EXPECT_TRUE(take(pair.server).empty()) << "seed " << seed;
    EXPECT_TRUE(take(pair.client).empty()) << "seed " << seed;
  }
}

TEST(LinkAttack, KeysAreWiped) {
  alignas(LinkKey) std::byte memory[sizeof(LinkKey)];
  auto* const key = new (memory) LinkKey(testing::test_key());
  EXPECT_EQ(memory[0], std::byte{0x5a});
  key->~LinkKey();
  for (const std::byte byte : memory) EXPECT_EQ(byte, std::byte{0});
  EXPECT_NE(LinkKey::random().bytes(), LinkKey::random().bytes());
}

}  // namespace
}  // namespace millrace::transport
