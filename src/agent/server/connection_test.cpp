// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/server/connection.hpp"

#include <filesystem>

#include "agent/core/testing/core_rig.hpp"
#include "transport/want_list.hpp"

namespace millrace::agent {
namespace {

using transport::FrameHeader;
using transport::Kind;
using Bytes = std::vector<std::byte>;

// One rank's ring, and a Core over files in memory.
class Ring : public CoreTest {
 protected:
  void start_ring(Strategy strategy, io::MemoryOptions options = {}) {
    std::filesystem::create_directory(folder);
    rig = std::make_unique<Rig>(std::move(options), folder);
    file = rig->storage.create();
    slot = rig->open(0, file, tiny(strategy, true));
    Result<transport::Producer> made = transport::Producer::create(ring_bytes);
    ASSERT_TRUE(made.ok());
    producer = *std::move(made);
    Result<transport::Consumer> consumer =
        transport::Consumer::attach(Fd(::dup(producer.memory())), ring_bytes);
    ASSERT_TRUE(consumer.ok());
    transport::Hello hello{};
    hello.ring_bytes = ring_bytes;
    rank.greet(*std::move(consumer), hello);
    rank.allow(slot, 4 * KiB, strategy == Strategy::journal, true);
  }
  void TearDown() override {
    rig.reset();
    std::filesystem::remove_all(folder);
  }

  // Publishes a frame with the right checksum.
  void put(Kind kind, std::uint64_t offset, const Bytes& payload) {
    FrameHeader frame{};
    frame.kind = kind;
    frame.file = slot;
    frame.length = static_cast<std::uint32_t>(payload.size());
    frame.offset = offset;
    frame.span = 1;
    ASSERT_TRUE(producer.append(frame, payload.data()));
    producer.publish();
  }
  Bytes bundle_of(std::initializer_list<std::pair<std::uint64_t, int>> records) {
    transport::Bundle bundle(4 * KiB);
    for (const auto& [offset, value] : records)
      EXPECT_TRUE(bundle.add(offset, Bytes(12, static_cast<std::byte>(value))));
    return {bundle.payload().begin(), bundle.payload().end()};
  }
  Drained drain() {
    EXPECT_TRUE(rank.ring().snapshot());
    return rank.drain(rig->core, UINT64_MAX - 1, requests, damaged, why);
  }
  // The number of frames whose memory the agent has not given back.
  std::size_t frames_in_ring() const {
    std::size_t frames = 0;
    producer.each_kept([&frames](const FrameHeader&, const std::byte*) { ++frames; });
    return frames;
  }
  void close_file() {
    rig->core.close(0, slot, 9, {});
    ASSERT_TRUE(rig->await(0, 9));
    settle();
  }

  static constexpr std::uint64_t ring_bytes = 64 * KiB;
  std::string folder = testing::TempDir() + "millrace-connection-" + std::to_string(::getpid());
  FileSlot slot = 0;
  transport::Producer producer;
  Connection rank{0, Fd()};
  std::vector<PendingRequest> requests;
  std::vector<FileSlot> damaged;
  std::string why;
};

// Each record takes a block of its own, so that Core is often full in the middle of a bundle.
TEST_F(Ring, a_bundle_goes_on_where_core_was_full) {
  for (const Strategy strategy :
       {Strategy::sort, Strategy::automatic, Strategy::immediate, Strategy::journal}) {
    start_ring(strategy);
    std::size_t sent = 0, stops_within = 0;
    const std::uint64_t before = rank.records();
    for (int round = 0; round < 40; ++round) {
      transport::Bundle bundle(4 * KiB);
      const std::uint64_t begin = static_cast<std::uint64_t>(round) % 16 * 4 * KiB;
      for (std::uint64_t i = 0; i < 100; ++i) {
        const std::uint64_t offset = begin + (i * 37 % 100) * 64 * KiB;
        const Bytes data(12 + i % 9, static_cast<std::byte>(round + 1));
        ASSERT_TRUE(bundle.add(offset, data));
        if (rig->oracle.size() < offset + data.size()) rig->oracle.resize(offset + data.size());
        std::ranges::copy(data, rig->oracle.begin() + static_cast<std::ptrdiff_t>(offset));
      }
      put(Kind::records, bundle.offset(), {bundle.payload().begin(), bundle.payload().end()});
      sent += 100;
      Drained drained = drain();
      for (int i = 0; i < 10000 && drained == Drained::core_is_full; ++i) {
        stops_within += (rank.records() - before) % 100 != 0 ? 1 : 0;
        EXPECT_FALSE(rank.ring().empty()) << "the rest is in the ring";
        rig->step();
        drained = drain();
      }
      ASSERT_EQ(drained, Drained::done);
      rank.ring().release();
      rank.give_back(rig->core);
    }
    EXPECT_EQ(rank.records() - before, sent) << "each once";
    if (strategy == Strategy::sort || strategy == Strategy::journal) {
      EXPECT_GT(stops_within, 10U);
    }
    EXPECT_TRUE(damaged.empty());
    close_file();
    EXPECT_TRUE(rig->same(0)) << static_cast<int>(strategy);
    rank.forbid(slot);
    TearDown();
  }
}

TEST_F(Ring, a_bundle_keeps_the_place_between_other_records) {
  start_ring(Strategy::automatic);
  put(Kind::write, 0, Bytes(30, std::byte{1}));
  put(Kind::records, 0, bundle_of({{0, 2}, {20, 2}, {6, 3}}));
  put(Kind::write, 10, Bytes(10, std::byte{4}));
  ASSERT_EQ(drain(), Drained::done);
  EXPECT_EQ(rank.records(), 5U);
  rig->oracle.assign(32, std::byte{2});
  std::fill_n(rig->oracle.begin() + 6, 12, std::byte{3});
  std::fill_n(rig->oracle.begin() + 10, 10, std::byte{4});
  close_file();
  EXPECT_TRUE(rig->same(0));
}

TEST_F(Ring, a_bundle_has_the_stamp_of_its_call) {
  start_ring(Strategy::automatic);
  FrameHeader frame{};
  frame.kind = Kind::records;
  frame.span = 700;
  const Bytes payload = bundle_of({{0, 1}, {100, 1}});
  frame.length = static_cast<std::uint32_t>(payload.size());
  ASSERT_TRUE(producer.append(frame, payload.data()));
  producer.publish();
  ASSERT_TRUE(rank.ring().snapshot());
  EXPECT_EQ(rank.next_stamp(), 700U);
  EXPECT_EQ(rank.drain(rig->core, 699, requests, damaged, why), Drained::done);
  EXPECT_EQ(rank.records(), 0U) << "it is for a later pass";
  EXPECT_EQ(rank.drain(rig->core, 700, requests, damaged, why), Drained::done);
  EXPECT_EQ(rank.records(), 2U);
}

TEST_F(Ring, the_whole_bundle_is_kept_until_the_ledger_has_its_last_record) {
  start_ring(Strategy::journal);
  rig->fill(0, slot, 100 * MiB, MiB - 64 * KiB, 1);  // Core is nearly full
  transport::Bundle bundle(4 * KiB);
  for (std::uint64_t i = 0; i < 100; ++i) ASSERT_TRUE(bundle.add(i * 64 * KiB, Bytes(12, std::byte{1})));
  put(Kind::records, 0, {bundle.payload().begin(), bundle.payload().end()});
  std::size_t kept_in_part = 0;
  for (int i = 0; i < 10000 && drain() == Drained::core_is_full; ++i) {
    kept_in_part += rank.records() > 0 && rank.records() < 100 ? 1 : 0;
    rank.ring().release();
    rank.give_back(rig->core);
    EXPECT_EQ(frames_in_ring(), 1U);
    rig->step();
  }
  EXPECT_GT(kept_in_part, 0U);
  EXPECT_EQ(rank.records(), 100U);
  rank.ring().release();
  EXPECT_EQ(frames_in_ring(), 1U) << "the ledger's last records are still in memory";
  for (int i = 0; i < 100 && frames_in_ring() > 0; ++i) {
    rig->step();
    rank.give_back(rig->core);
  }
  EXPECT_EQ(frames_in_ring(), 0U);
  close_file();
}

// Two files have records in one part of the ring, and one of their ledgers gets its records before the other.
TEST_F(Ring, a_file_waits_for_its_own_ledger_only) {
  std::size_t apart = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    start_ring(Strategy::journal, {.seed = seed, .max_delay_polls = 20});
    const Fd other = rig->storage.create();
    const FileSlot second = rig->open(0, other, tiny(Strategy::journal, true), 2);
    rank.allow(second, 4 * KiB, true, true);
    const FileSlot first = slot;
    for (const FileSlot to : {first, second, first, second}) {
      slot = to;
      put(Kind::write, 0, Bytes(30, std::byte{1}));
    }
    slot = first;
    ASSERT_EQ(drain(), Drained::done);
    rank.ring().release();
    const std::uint64_t marks[] = {rig->core.ledger_mark(first), rig->core.ledger_mark(second)};
    for (bool all = false; !all; rig->step()) {
      rank.give_back(rig->core);
      std::map<FileSlot, std::size_t> there;
      producer.each_kept([&there](const FrameHeader& frame, const std::byte*) {
        if (transport::carries_records(frame.kind)) ++there[frame.file];
      });
      const bool has_first = rig->core.kept(first, marks[0]), has_second = rig->core.kept(second, marks[1]);
      EXPECT_EQ(there[first], has_first ? 0U : 2U) << seed;
      EXPECT_EQ(there[second], has_second ? 0U : 2U) << seed;
      EXPECT_NE(rank.keeps_before(first, UINT64_MAX), has_first);
      apart += has_first != has_second ? 1 : 0;
      all = has_first && has_second;
    }
    EXPECT_EQ(frames_in_ring(), 0U);
    rig->core.close(0, second, 8, {});
    ASSERT_TRUE(rig->await(0, 8));
    close_file();
    rank = Connection(0, Fd());
    TearDown();
  }
  EXPECT_GT(apart, 0U);
}

// Its slot may soon be of a file that is.
TEST_F(Ring, behind_a_kept_record_those_of_other_files_are_not_kept) {
  start_ring(Strategy::journal, {.seed = 1, .max_delay_polls = 20});
  const Fd other = rig->storage.create();
  const FileSlot kept = slot;
  const FileSlot second = rig->open(0, other, tiny(Strategy::sort, true), 2);
  rank.allow(second, 4 * KiB, false, true);
  for (const FileSlot to : {kept, second, second}) {
    slot = to;
    put(Kind::write, 0, Bytes(30, std::byte{1}));
  }
  slot = kept;
  ASSERT_EQ(drain(), Drained::done);
  rank.give_back(rig->core);
  EXPECT_EQ(frames_in_ring(), 3U) << "the ledger does not have the first one yet";
  std::size_t of_second = 0;
  producer.each_kept([&](const FrameHeader& frame, const std::byte*) {
    of_second += frame.file == second && transport::carries_records(frame.kind) ? 1 : 0;
  });
  EXPECT_EQ(of_second, 0U);
  rig->core.close(0, second, 8, {});
  ASSERT_TRUE(rig->await(0, 8));
  close_file();
}

TEST_F(Ring, a_bundle_that_does_not_match_its_checksum_is_damaged_as_a_whole) {
  start_ring(Strategy::automatic);
  Bytes payload = bundle_of({{0, 1}, {100, 1}});
  put(Kind::records, 0, payload);
  producer.each_kept([](const FrameHeader&, const std::byte* bytes) {
    const_cast<std::byte*>(bytes)[5] ^= std::byte{1};  // NOLINT: another process could do this
  });
  put(Kind::records, 200, bundle_of({{200, 2}}));
  EXPECT_EQ(drain(), Drained::done);
  EXPECT_EQ(damaged, std::vector<FileSlot>{slot});
  rig->oracle.resize(212);
  std::fill_n(rig->oracle.begin() + 200, 12, std::byte{2});
  close_file();
  EXPECT_TRUE(rig->same(0)) << "nothing of it is written";
}

TEST_F(Ring, bundles_that_no_client_sends_end_the_connection) {
  const Bytes sound = bundle_of({{0, 1}, {100, 1}});
  const Bytes cut(sound.begin(), sound.end() - 1);
  const auto refused = [this](std::uint64_t offset, const Bytes& payload, bool writes = true) {
    TearDown();
    rank = Connection(0, Fd());
    start_ring(Strategy::automatic);
    if (!writes) {
      rank.forbid(slot);
      rank.allow(slot, 4 * KiB, false, false);
    }
    put(Kind::records, offset, payload);
    return drain() == Drained::broken && !why.empty();
  };
  EXPECT_TRUE(refused(0, cut));
  EXPECT_TRUE(refused(UINT64_MAX / 2 + 1, sound));
  EXPECT_TRUE(refused(UINT64_MAX / 2 - 50, sound)) << "the second record begins behind all files";
  EXPECT_TRUE(refused(0, Bytes(4 * KiB + 1))) << "larger than agreed";
  EXPECT_TRUE(refused(0, sound, false)) << "opened for reading";
  EXPECT_FALSE(refused(0, sound));
}

// A rank's window, and the requests that name places in it.
class WindowOfARank : public Ring {
 protected:
  static constexpr std::uint64_t window_bytes = 64 * KiB;

  void SetUp() override {
    start_ring(Strategy::automatic);
    Result<Fd> made = transport::make_memory("window", window_bytes);
    ASSERT_TRUE(made.ok());
    memory = *std::move(made);
    ASSERT_TRUE(rank.take_window(Fd(::dup(memory.get())), window_bytes).ok());
    mapped = *transport::map(memory.get(), window_bytes);
  }
  Drained want(std::uint32_t request, std::uint64_t place, const std::vector<Extent>& extents) {
    transport::WantWriter writer(8 * KiB);
    for (const Extent extent : extents) EXPECT_TRUE(writer.add(extent));
    return send(request, place, writer.finish());
  }
  Drained send(std::uint32_t request, std::uint64_t place, const Bytes& list) {
    FrameHeader frame{};
    frame.kind = Kind::want;
    frame.file = slot;
    frame.request = request;
    frame.offset = place;
    frame.length = static_cast<std::uint32_t>(list.size());
    EXPECT_TRUE(producer.append(frame, list.data()));
    producer.publish();
    return drain();
  }
  int at(std::uint64_t place) const { return std::to_integer<int>(mapped.data()[place]); }

  Fd memory;
  transport::Mapping mapped;
};

TEST_F(WindowOfARank, bytes_go_to_the_place_of_their_request) {
  ASSERT_EQ(want(5, 1000, {{0, 100}, {500, 600}}), Drained::done);
  ASSERT_EQ(want(6, 2000, {{0, 10}}), Drained::done);
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].wanted, (std::vector<Extent>{{0, 100}, {500, 600}}));
  rank.put_wanted(5, 0, Bytes(100, std::byte{1}));
  rank.put_wanted(5, 100, Bytes(100, std::byte{2}));
  rank.put_wanted(6, 9, Bytes(1, std::byte{3}));
  EXPECT_EQ(at(999), 0);
  EXPECT_EQ(at(1000), 1);
  EXPECT_EQ(at(1100), 2);
  EXPECT_EQ(at(1199), 2);
  EXPECT_EQ(at(1200), 0);
  EXPECT_EQ(at(2009), 3);
}

TEST_F(WindowOfARank, nothing_is_put_outside_a_request_or_after_it) {
  ASSERT_EQ(want(5, window_bytes - 100, {{0, 100}}), Drained::done);
  rank.put_wanted(5, 50, Bytes(51, std::byte{1}));
  rank.put_wanted(5, 101, Bytes(1, std::byte{1}));
  rank.put_wanted(4, 0, Bytes(100, std::byte{1}));
  rank.end_want(5);
  rank.put_wanted(5, 0, Bytes(100, std::byte{1}));
  for (std::uint64_t place = 0; place < window_bytes; ++place) ASSERT_EQ(at(place), 0);
}

TEST_F(WindowOfARank, lists_that_no_client_sends_end_the_connection) {
  EXPECT_EQ(want(5, window_bytes - 99, {{0, 100}}), Drained::broken);
  start_ring(Strategy::automatic);
  EXPECT_EQ(want(5, UINT64_MAX, {{0, 100}}), Drained::broken);
  start_ring(Strategy::automatic);
  EXPECT_EQ(send(5, 0, {}), Drained::broken);
  start_ring(Strategy::automatic);
  EXPECT_EQ(send(5, 0, Bytes(3, std::byte{0xff})), Drained::broken);
  start_ring(Strategy::automatic);
  EXPECT_EQ(want(0, 0, {{0, 100}}), Drained::broken);
  start_ring(Strategy::automatic);
  for (std::uint32_t request = 1; request <= transport::reply_slots; ++request)
    EXPECT_EQ(want(request, 0, {{0, 100}}), Drained::done);
  EXPECT_EQ(want(100, 0, {{0, 100}}), Drained::broken);
}

TEST_F(WindowOfARank, a_second_window_and_memory_that_may_shrink_are_refused) {
  EXPECT_FALSE(rank.take_window(Fd(::dup(memory.get())), window_bytes).ok());
  Connection next{1, Fd()};
  EXPECT_FALSE(next.take_window(Fd(::dup(memory.get())), 2 * window_bytes).ok());
  EXPECT_FALSE(next.take_window(Fd(), window_bytes).ok());
  EXPECT_FALSE(next.take_window(Fd(::dup(file.get())), 4096).ok());
  EXPECT_TRUE(next.take_window(Fd(::dup(memory.get())), window_bytes).ok());
}

}  // namespace
}  // namespace millrace::agent
