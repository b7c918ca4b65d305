// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/link.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "transport/testing/link_rig.hpp"

namespace millrace::transport {
namespace {

using testing::Bytes;
using testing::drain;
using testing::feed;
using testing::Frame;
using testing::LinkPair;
using testing::pattern;
using testing::take;
using testing::write_header;

void put(Link& link, std::uint64_t offset, const Bytes& payload) {
  link.put(write_header(offset, payload), payload);
}

void expect_record(const Frame& frame, std::uint64_t offset, const Bytes& payload) {
  EXPECT_EQ(frame.header.kind, Kind::write);
  EXPECT_EQ(frame.header.offset, offset);
  EXPECT_EQ(frame.header.checksum, write_header(offset, payload).checksum);
  EXPECT_TRUE(frame.payload == payload) << "at offset " << offset;
}

TEST(Link, ShakesHandsAndCarriesFramesBothWays) {
  LinkPair pair;
  EXPECT_FALSE(pair.client.established());
  EXPECT_FALSE(pair.server.established());
  pair.shake_hands();
  ASSERT_TRUE(pair.client.established()) << pair.client.reason();
  ASSERT_TRUE(pair.server.established()) << pair.server.reason();
  EXPECT_EQ(pair.server.introduction().from, 3u);
  EXPECT_EQ(pair.server.introduction().lane, 7u);
  put(pair.client, 4096, pattern(100, 1));
  put(pair.client, 8192, {});
  pair.client.flush();
  put(pair.server, 1, pattern(13, 2));
  pair.server.flush();
  feed(pair.server, drain(pair.client));
  feed(pair.client, drain(pair.server));
  const std::vector<Frame> there = take(pair.server);
  ASSERT_EQ(there.size(), 2u) << pair.server.reason();
  expect_record(there[0], 4096, pattern(100, 1));
  expect_record(there[1], 8192, {});
  const std::vector<Frame> here = take(pair.client);
  ASSERT_EQ(here.size(), 1u) << pair.client.reason();
  expect_record(here[0], 1, pattern(13, 2));
}

TEST(Link, WorksInPiecesOfAnySize) {
  for (std::size_t piece = 1; piece <= 130; ++piece) {
    LinkPair pair;
    put(pair.client, 1, pattern(30, 1));
    pair.client.flush();
    put(pair.client, 2, pattern(61, 2));
    pair.client.flush();
    put(pair.server, 3, pattern(9, 3));
    pair.server.flush();
    std::vector<Frame> there;
    std::vector<Frame> here;
    for (bool moved = true; moved;) {
      const Bytes up = drain(pair.client, piece);
      feed(pair.server, up);
      const Bytes down = drain(pair.server, piece);
      feed(pair.client, down);
      moved = !up.empty() || !down.empty();
      for (Frame& frame : take(pair.server)) there.push_back(std::move(frame));
      for (Frame& frame : take(pair.client)) here.push_back(std::move(frame));
    }
    ASSERT_EQ(there.size(), 2u) << "pieces of " << piece << ": " << pair.server.reason();
    ASSERT_EQ(here.size(), 1u) << "pieces of " << piece << ": " << pair.client.reason();
    expect_record(there[0], 1, pattern(30, 1));
    expect_record(there[1], 2, pattern(61, 2));
    expect_record(here[0], 3, pattern(9, 3));
  }
}

TEST(Link, WorksCutInTwoAnywhere) {
  std::size_t total = 1;
  for (std::size_t cut = 0; cut <= total; ++cut) {
    LinkPair pair;
    pair.shake_hands();
    for (unsigned i = 0; i < 3; ++i) {
      put(pair.client, i, pattern(20 + i, i));
      pair.client.flush();
    }
    const Bytes stream = drain(pair.client);
    total = stream.size();
    feed(pair.server, std::span(stream).first(cut));
    std::vector<Frame> frames = take(pair.server);
    feed(pair.server, std::span(stream).subspan(cut));
    for (Frame& frame : take(pair.server)) frames.push_back(std::move(frame));
    ASSERT_EQ(frames.size(), 3u) << "cut at " << cut << ": " << pair.server.reason();
    for (unsigned i = 0; i < 3; ++i) expect_record(frames[i], i, pattern(20 + i, i));
  }
}

// Makes a random exchange: the sizes, the flushes, the bytes per step and the delay before frames are taken
// are random.
void walk(unsigned seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  LinkPair pair;
  const LinkLimits limits{max_link_record_bytes, std::size_t{1} << (random() % 20)};
  pair.client = Link::connecting(testing::test_key(), testing::test_introduction(), limits);
  Bytes wire;
  unsigned next_out = 0;
  unsigned next_in = 0;
  const unsigned records = 300;
  const auto size_of = [seed](unsigned i) {
    const unsigned mixed = (i + 1) * (seed * 2 + 1) * 2654435761u;
    return (mixed >> 8) % (i % 17 == 0 ? max_link_record_bytes + 1 : 2000);
  };
  while (next_in < records && pair.server.status().ok() && pair.client.status().ok()) {
    if (next_out < records && pair.client.has_room() && random() % 2 == 0) {
      put(pair.client, next_out, pattern(size_of(next_out), next_out));
      ++next_out;
    }
    if (next_out == records || random() % 8 == 0) pair.client.flush();
    if (random() % 16 == 0) pair.client.put_ping();
    const Bytes some = drain(pair.client, random() % 600000);
    wire.insert(wire.end(), some.begin(), some.end());
    const std::size_t taken =
        feed(pair.server, std::span(wire).first(std::min<std::size_t>(wire.size(), random() % 900000)));
    wire.erase(wire.begin(), wire.begin() + static_cast<std::ptrdiff_t>(taken));
    feed(pair.client, drain(pair.server));
    if (random() % 3 == 0) continue;
    FrameHeader header;
    const std::byte* payload = nullptr;
    for (auto most = random() % 50; most > 0 && pair.server.next(header, payload); --most) {
      const Bytes expected = pattern(size_of(next_in), next_in);
      ASSERT_EQ(header.offset, next_in);
      ASSERT_EQ(header.length, expected.size());
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), payload)) << "record " << next_in;
      pair.server.consume();
      ++next_in;
    }
  }
  EXPECT_EQ(next_in, records) << pair.server.reason() << pair.client.reason();
  pair.client.flush();
  EXPECT_EQ(pair.client.backlog_bytes(), drain(pair.client).size());
}

TEST(Link, CarriesRandomRecordsInOrder) {
  if (const char* told = std::getenv("SEED")) return walk(static_cast<unsigned>(std::atoi(told)));
  for (unsigned seed = 1; seed <= 12; ++seed) walk(seed);
}

TEST(Link, KeepsWhatIsPutBeforeItIsEstablished) {
  LinkPair pair;
  put(pair.client, 1, pattern(10, 1));
  pair.client.flush();
  put(pair.client, 2, pattern(10, 2));
  EXPECT_EQ(drain(pair.client).size(), sizeof(LinkHello));
  pair = LinkPair();
  put(pair.client, 1, pattern(10, 1));
  pair.client.flush();
  put(pair.client, 2, pattern(10, 2));
  pair.shake_hands();
  pair.client.flush();
  feed(pair.server, drain(pair.client));
  EXPECT_EQ(take(pair.server).size(), 2u) << pair.server.reason();
}

TEST(Link, GivesAStrangerNoMoreThanOneMessage) {
  Link server = Link::accepting(testing::test_lookup());
  EXPECT_EQ(server.space().size(), sizeof(LinkHello));
  Link client = Link::connecting(testing::test_key(), testing::test_introduction());
  feed(server, drain(client));
  EXPECT_EQ(server.space().size(), sizeof(LinkProof));
  EXPECT_EQ(client.space().size(), sizeof(LinkChallenge));
}

TEST(Link, CountsItsBacklogAndReusesItsMemory) {
  LinkPair pair;
  pair.shake_hands();
  const Bytes payload = pattern(100000, 1);
  std::size_t most = 0;
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(pair.client.backlog_bytes(), 0u);
    while (pair.client.has_room()) put(pair.client, 0, payload);
    most = pair.client.backlog_bytes();
    EXPECT_GE(most, Link::max_backlog_bytes);
    EXPECT_LT(most, Link::max_backlog_bytes + payload.size() + 1024);
    pair.client.flush();
    EXPECT_EQ(pair.client.backlog_bytes(), most);
    const Bytes stream = drain(pair.client);
    EXPECT_EQ(stream.size(), most);
    EXPECT_TRUE(pair.client.has_room());
  }
}

TEST(Link, LeavesFramesThatAreNotTakenWhereTheyAre) {
  LinkPair pair;
  pair.shake_hands();
  const Bytes first = pattern(1000, 1);
  put(pair.client, 1, first);
  for (unsigned i = 2; i < 60; ++i) put(pair.client, i, pattern(100000, i));
  pair.client.flush();
  const Bytes stream = drain(pair.client);
  std::size_t taken = feed(pair.server, std::span(stream).first(300000));
  FrameHeader header;
  const std::byte* payload = nullptr;
  ASSERT_TRUE(pair.server.next(header, payload));
  taken += feed(pair.server, std::span(stream).subspan(taken));
  EXPECT_LT(taken, stream.size()) << "the buffer is bounded";
  EXPECT_TRUE(pair.server.space().empty());
  EXPECT_TRUE(std::equal(first.begin(), first.end(), payload));
  std::size_t frames = 0;
  for (bool more = true; more;) {
    const std::size_t got = take(pair.server).size();
    const std::size_t fed = feed(pair.server, std::span(stream).subspan(taken));
    frames += got;
    taken += fed;
    more = got + fed > 0;
  }
  EXPECT_EQ(frames, 59u) << pair.server.reason();
}

TEST(Link, LeavesAFrameWhereItIsThoughMostBeforeItWasTaken) {
  LinkPair pair;
  pair.shake_hands();
  for (unsigned i = 0; i < 40; ++i) put(pair.client, i, pattern(50000, i));
  pair.client.flush();
  const Bytes stream = drain(pair.client);
  ASSERT_EQ(feed(pair.server, stream), stream.size());
  FrameHeader header;
  const std::byte* payload = nullptr;
  for (unsigned i = 0; i < 40; ++i) {
    ASSERT_TRUE(pair.server.next(header, payload));
    EXPECT_FALSE(pair.server.space().empty());
    const Bytes expected = pattern(50000, i);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), payload)) << i;
    pair.server.consume();
  }
}

TEST(Link, KeepsPingsToItself) {
  LinkPair pair;
  pair.shake_hands();
  pair.client.put_ping();
  pair.client.flush();
  put(pair.client, 1, pattern(5, 1));
  pair.client.put_ping();
  pair.client.flush();
  feed(pair.server, drain(pair.client));
  EXPECT_EQ(take(pair.server).size(), 1u);
  EXPECT_TRUE(pair.server.status().ok());
}

TEST(Link, RepliesCarryAStatus) {
  LinkPair pair;
  pair.shake_hands();
  pair.server.put_reply(4, 99, {Code::no_space, 28});
  pair.server.flush();
  feed(pair.client, drain(pair.server));
  const std::vector<Frame> frames = take(pair.client);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].header.kind, Kind::reply);
  EXPECT_EQ(frames[0].header.file, 4u);
  EXPECT_EQ(frames[0].header.request, 99u);
  WireStatus reply{};
  ASSERT_EQ(frames[0].payload.size(), sizeof reply);
  std::memcpy(&reply, frames[0].payload.data(), sizeof reply);
  EXPECT_EQ(reply.status(), Status(Code::no_space, 28));
  EXPECT_EQ(frames[0].header.checksum, record_checksum(&reply, sizeof reply, 0));
  EXPECT_FALSE((WireStatus{12345, 0}).status().ok());
}

TEST(Link, TakesTheLargestRecordAndNoneThatIsLarger) {
  LinkPair pair;
  pair.shake_hands();
  const Bytes largest = pattern(max_link_record_bytes, 1);
  for (unsigned i = 0; i < 5; ++i) {
    put(pair.client, i, largest);
    pair.client.flush();
    feed(pair.server, drain(pair.client));
    const std::vector<Frame> frames = take(pair.server);
    ASSERT_EQ(frames.size(), 1u) << pair.server.reason();
    expect_record(frames[0], i, largest);
  }
  put(pair.client, 0, pattern(max_link_record_bytes + 1, 1));
  EXPECT_EQ(pair.client.status().code(), Code::invalid);
}

TEST(Link, RefusesRecordsLargerThanItsOwnerAllows) {
  LinkPair pair;
  pair.server = Link::accepting(testing::test_lookup(), {1000, 4096});
  pair.shake_hands();
  put(pair.client, 1, pattern(1000, 1));
  put(pair.client, 2, pattern(1001, 2));
  pair.client.flush();
  feed(pair.server, drain(pair.client));
  EXPECT_EQ(take(pair.server).size(), 1u);
  EXPECT_EQ(pair.server.status().code(), Code::corrupt);
}

TEST(Link, LeavesNothingOfItsBufferInThePadding) {
  LinkPair pair;
  pair.shake_hands();
  put(pair.client, 1, Bytes(64, std::byte{0xff}));
  pair.client.flush();
  drain(pair.client);
  put(pair.client, 1, Bytes(1, std::byte{0xff}));
  pair.client.flush();
  const Bytes stream = drain(pair.client);
  ASSERT_EQ(stream.size(), sizeof(BatchHeader) + sizeof(FrameHeader) + 8);
  for (std::size_t i = stream.size() - 7; i < stream.size(); ++i) EXPECT_EQ(stream[i], std::byte{0});
}

}  // namespace
}  // namespace millrace::transport
