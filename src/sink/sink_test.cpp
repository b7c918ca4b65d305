// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "sink/sink.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "io/virtual/memory_storage.hpp"

namespace millrace::sink {
namespace {

using io::MemoryStorage;
using io::Op;

// A sink over an in-memory storage, and page-aligned memory to write from.
class SinkTest : public testing::Test {
 protected:
  static constexpr std::uint32_t owner = 9;

  void start(io::MemoryOptions memory = {}, SinkOptions options = {}) {
    memory.keep_history = true;
    storage = std::make_unique<MemoryStorage>(memory);
    sink = *Sink::open(*storage, storage->create(), owner, options);
  }
  void round() {
    storage->kick();
    std::vector<io::Completion> completions;
    storage->poll(completions);
    for (const io::Completion& completion : completions) {
      ASSERT_EQ(owner_of(completion.token), owner);
      sink->complete(completion);
    }
    std::vector<Done> some;
    sink->take(some);
    for (const Done& one : some) EXPECT_TRUE(done.emplace(one.ticket, one.status).second) << "told twice";
  }
  void drain() {
    for (int rounds = 0; !sink->idle() && rounds < 10'000; ++rounds) round();
    round();
    ASSERT_TRUE(sink->idle());
    EXPECT_EQ(storage->in_flight(), 0U);
  }
  Ticket put(std::uint64_t offset, std::uint64_t length) {
    const SinkSegment segment{offset, memory(offset, length), length};
    return sink->put({&segment, 1});
  }
  // Memory filled by position: byte = position mod 251. Congruent to the offset modulo a page.
  const std::byte* memory(std::uint64_t offset, std::uint64_t length) {
    if (arena.empty()) {
      arena.resize(16 * MiB + 4096);
      base = arena.data() + (4096 - reinterpret_cast<std::uintptr_t>(arena.data()) % 4096) % 4096;
      for (std::size_t i = 0; i < 16 * MiB; ++i) base[i] = static_cast<std::byte>(i % 251);
    }
    EXPECT_LE(offset + length, 16 * MiB);
    return base + offset;
  }
  std::vector<MemoryStorage::Event> events(Op op) const {
    std::vector<MemoryStorage::Event> some;
    for (const auto& event : storage->history()) {
      if (event.op == op) some.push_back(event);
    }
    return some;
  }
  void expect_file(std::uint64_t begin, std::uint64_t end) {
    ASSERT_GE(storage->contents(0).size(), end);
    EXPECT_EQ(std::memcmp(storage->contents(0).data() + begin, base + begin, end - begin), 0);
  }
  void TearDown() override {
    sink.reset();
    EXPECT_EQ(storage->misuse(), io::Misuse{});
    EXPECT_EQ(storage->handles(), 0U);
  }

  std::vector<std::byte> arena;
  std::byte* base = nullptr;
  std::unique_ptr<MemoryStorage> storage;
  std::unique_ptr<Sink> sink;
  std::map<Ticket, Status> done;
};

TEST_F(SinkTest, AdjacentSegmentsBecomeOneWrite) {
  start();
  for (std::uint64_t i = 0; i < 100; ++i) put(1000 + i * 256, 256);
  EXPECT_TRUE(events(Op::write).empty()) << "not before it is full or flushed";
  sink->flush();
  drain();
  ASSERT_EQ(events(Op::write).size(), 1U);
  EXPECT_EQ(events(Op::write)[0].offset, 1000U);
  EXPECT_EQ(events(Op::write)[0].length, 25'600U);
  EXPECT_EQ(done.size(), 100U);
  EXPECT_EQ(sink->counters().seeks, 1U);
  EXPECT_EQ(sink->counters().bytes, 25'600U);
  expect_file(1000, 26'600);
}

TEST_F(SinkTest, WritesAreCutAtMultiplesOfTheLargest) {
  start({}, {.write_max_bytes = 64 * KiB});
  put(10'000, 200 * KiB);
  sink->flush();
  drain();
  const auto writes = events(Op::write);
  ASSERT_EQ(writes.size(), 4U);
  EXPECT_EQ(writes[0].length, 64 * KiB - 10'000);
  EXPECT_EQ(writes[1].offset, 64 * KiB);
  EXPECT_EQ(sink->counters().seeks, 1U) << "the first only";
  expect_file(10'000, 10'000 + 200 * KiB);
}

TEST_F(SinkTest, ManyScatteredPiecesOfMemoryStayWithinOneSystemCall) {
  start();
  std::vector<std::byte> scattered(8192);
  std::vector<SinkSegment> batch;
  for (std::uint64_t i = 0; i < 4096; ++i) batch.push_back({i, &scattered[2 * i], 1});
  sink->put(batch);
  sink->flush();
  drain();
  for (const auto& write : events(Op::write)) EXPECT_LE(write.buffers, 1024U);
  EXPECT_EQ(events(Op::write).size(), 4U);
}

TEST_F(SinkTest, GapsAreSeeks) {
  start();
  for (std::uint64_t i = 0; i < 10; ++i) put(i * 1000, 500);
  sink->flush();
  drain();
  EXPECT_EQ(sink->counters().writes, 10U);
  EXPECT_EQ(sink->counters().seeks, 9U) << "the first starts where nothing has ended: at 0";
}

TEST_F(SinkTest, EmptyBatchIsDoneAtOnce) {
  start();
  const Ticket ticket = sink->put({});
  round();
  EXPECT_EQ(done.count(ticket), 1U);
}

TEST_F(SinkTest, DepthBoundsWritesInFlight) {
  start({}, {.gather_below_bytes = 0, .depth = 3});
  for (std::uint64_t i = 0; i < 10; ++i) put(i * 1000, 500);
  sink->flush();
  EXPECT_EQ(storage->in_flight(), 3U);
  EXPECT_EQ(sink->backlog(), 7U);
  drain();
  EXPECT_EQ(done.size(), 10U);
}

TEST_F(SinkTest, SmallSegmentsThatLieApartShareARequest) {
  start();
  for (std::uint64_t i = 0; i < 10; ++i) put(i * 1000, 500);
  put(5 * MiB, 100);              // in another window
  put(4 * MiB, 100);              // not ascending
  put(4 * MiB + 200, 100 * KiB);  // not small
  sink->flush();
  drain();
  const auto writes = events(Op::write);
  ASSERT_EQ(writes.size(), 4U);
  EXPECT_EQ(writes[0].length, 9'500U);
  EXPECT_EQ(writes[0].buffers, 19U) << "ten pieces and nine gaps";
  EXPECT_EQ(sink->counters().writes, 13U);
  EXPECT_EQ(sink->counters().seeks, 12U) << "all but the first, which starts where the file does";
  EXPECT_EQ(sink->counters().bytes, 5'000U + 200 + 100 * KiB);
  for (std::uint64_t i = 0; i < 10; ++i) expect_file(i * 1000, i * 1000 + 500);
  EXPECT_EQ(storage->contents(0)[700], std::byte{0}) << "a gap";
}

TEST_F(SinkTest, LaterWriteToTheSameBytesWins) {
  start({.max_delay_polls = 10});
  std::vector<std::byte> older(5000, std::byte{1});
  const SinkSegment first{100, older.data(), older.size()};
  sink->put({&first, 1});
  sink->flush();
  put(200, 1000);
  sink->flush();
  drain();
  expect_file(200, 1200);
  EXPECT_EQ(storage->contents(0)[100], std::byte{1});
  EXPECT_EQ(storage->contents(0)[1200], std::byte{1});
}

TEST_F(SinkTest, SyncMakesEverythingBeforeItStable) {
  start({.max_delay_polls = 6});
  for (std::uint64_t i = 0; i < 20; ++i) put(i * 1000, 500);
  const Ticket ticket = sink->sync();
  put(0, 100'000);
  sink->flush();
  while (done.count(ticket) == 0) round();
  EXPECT_TRUE(done[ticket].ok());
  ASSERT_GE(storage->stable(0).size(), 19'500U);
  EXPECT_EQ(std::memcmp(storage->stable(0).data() + 19'000, base + 19'000, 500), 0);
  drain();
}

TEST_F(SinkTest, WritebackFollowsInStepsOverContiguousRanges) {
  start({}, {.write_max_bytes = 64 * KiB, .writeback_step_bytes = 256 * KiB});
  put(0, 1 * MiB);
  put(2 * MiB, 100 * KiB);
  sink->flush();
  drain();
  std::uint64_t covered = 0;
  for (const auto& event : events(Op::writeback)) {
    EXPECT_GE(event.length, 256 * KiB);
    EXPECT_LE(event.offset + event.length, 1 * MiB);
    covered += event.length;
  }
  EXPECT_GE(covered, 512 * KiB);
  sink->note({2 * MiB + 100 * KiB, 3 * MiB});
  drain();
  EXPECT_EQ(events(Op::writeback).back().offset, 2 * MiB);
}

TEST_F(SinkTest, DatasyncEveryInterval) {
  start({}, {.write_max_bytes = 64 * KiB, .datasync_interval_bytes = 256 * KiB, .depth = 1});
  put(0, 2 * MiB);
  sink->flush();
  drain();
  EXPECT_GE(sink->counters().datasyncs, 4U);
  EXPECT_LE(sink->counters().datasyncs, 8U);
}

TEST_F(SinkTest, AlignedMiddleGoesDirect) {
  start({}, {.direct = true});
  ASSERT_TRUE(sink->direct());
  put(1000, 1 * MiB);
  sink->flush();
  drain();
  const auto writes = events(Op::write);
  ASSERT_EQ(writes.size(), 3U);
  EXPECT_FALSE(writes[0].direct);
  EXPECT_EQ(writes[0].length, 3096U);
  EXPECT_TRUE(writes[1].direct);
  EXPECT_EQ(writes[1].length, 1 * MiB - 4096);
  EXPECT_FALSE(writes[2].direct);
  EXPECT_EQ(sink->counters().direct_bytes, 1 * MiB - 4096);
  expect_file(1000, 1000 + 1 * MiB);
}

TEST_F(SinkTest, ErrorReachesItsBatchAndSticks) {
  start({.faults = {{Op::write, 2, 0, ENOSPC}}}, {.gather_below_bytes = 0});
  const Ticket good = put(0, 100);
  const Ticket bad = put(1000, 100);
  const Ticket later = put(2000, 100);
  const Ticket sync = sink->sync();
  drain();
  EXPECT_TRUE(done[good].ok());
  EXPECT_EQ(done[bad].code(), Code::no_space);
  EXPECT_TRUE(done[later].ok());
  EXPECT_EQ(done[sync].code(), Code::no_space);
  EXPECT_EQ(sink->status().code(), Code::no_space);
  EXPECT_EQ(sink->counters().bytes, 200U);
}

TEST_F(SinkTest, ACloseFollowsItsWritesAndItsErrorSticks) {
  start({.faults = {{Op::close, 1, 0, ENOSPC}}});
  put(0, 100 * KiB);
  const Ticket first = sink->close(false);
  while (events(Op::close).empty() && !sink->idle()) round();
  EXPECT_EQ(storage->in_flight(), 1U) << "the close alone";
  drain();
  EXPECT_EQ(done.at(first).code(), Code::no_space);
  EXPECT_EQ(storage->history().back().op, Op::close);
  EXPECT_TRUE(events(Op::datasync).empty());
  put(200 * KiB, 100 * KiB);
  const Ticket second = sink->close(true);
  drain();
  EXPECT_EQ(done.at(second).code(), Code::no_space) << "the error stays with the file";
  EXPECT_EQ(events(Op::datasync).size(), 1U);
  EXPECT_EQ(events(Op::close).size(), 2U);
  EXPECT_EQ(storage->history().back().op, Op::close) << "behind the datasync";
}

TEST_F(SinkTest, FailedDatasyncIsToldAndSticks) {
  start({.faults = {{Op::datasync, 1, 0, EIO}}});
  put(0, 100);
  const Ticket first = sink->sync();
  drain();
  const Ticket second = sink->sync();
  drain();
  EXPECT_EQ(done[first].code(), Code::io);
  EXPECT_EQ(done[second].code(), Code::io) << "the bytes are still lost";
}

// Runs random batches with overlaps and random delays. It reuses memory as soon as a ticket is done.
std::uint64_t random_case(std::uint64_t seed, bool direct) {
  std::mt19937_64 random(seed);
  const auto pick = [&](std::uint64_t below) { return random() % below; };
  MemoryStorage storage({.seed = seed, .max_delay_polls = static_cast<std::uint32_t>(pick(8))});
  std::unique_ptr<Sink> sink = *Sink::open(storage, storage.create(), 3,
                                           {.write_max_bytes = 16 * KiB,
                                            .writeback_step_bytes = 32 * KiB,
                                            .datasync_interval_bytes = pick(2) * 50'000,
                                            .direct_min_bytes = 4096,
                                            .depth = static_cast<std::uint32_t>(1 + pick(6)),
                                            .direct = direct});
  std::vector<std::byte> model(256 * KiB);
  std::map<Ticket, std::byte*> memory;
  const auto round = [&] {
    std::vector<io::Completion> completions;
    storage.kick();
    storage.poll(completions);
    for (const io::Completion& completion : completions) sink->complete(completion);
    std::vector<Done> done;
    sink->take(done);
    for (const Done& one : done) {
      EXPECT_TRUE(one.status.ok());
      const auto found = memory.find(one.ticket);
      if (found == memory.end()) continue;
      std::memset(found->second, 0xee, 64 * KiB);
      std::free(found->second);
      memory.erase(found);
    }
  };
  for (int i = 0; i < 60; ++i) {
    auto* const block = static_cast<std::byte*>(std::aligned_alloc(4096, 64 * KiB));
    std::vector<SinkSegment> batch;
    std::uint64_t used = 0;
    std::uint64_t at = pick(model.size());
    if (pick(2) == 0) at &= ~std::uint64_t{4095};
    while (used < 32 * KiB && batch.size() < 5) {
      const std::uint64_t begin = pick(3) == 0 ? used : (used & ~std::uint64_t{4095}) + at % 4096;
      const std::uint64_t length = std::min({1 + pick(12 * KiB), model.size() - at, 64 * KiB - begin});
      if (length == 0) break;
      for (std::uint64_t k = 0; k < length; ++k) block[begin + k] = static_cast<std::byte>(random());
      std::memcpy(model.data() + at, block + begin, length);
      batch.push_back({at, block + begin, length});
      used = (begin + length + 4095) & ~std::uint64_t{4095};
      at += length;
      if (pick(4) == 0) at = std::min<std::uint64_t>(model.size(), at + pick(5000));
    }
    memory.emplace(sink->put(batch), block);
    if (pick(3) == 0) sink->flush();
    if (pick(20) == 0) sink->sync();
    if (pick(2) == 0) round();
  }
  sink->sync();
  for (int rounds = 0; !sink->idle() && rounds < 10'000; ++rounds) round();
  EXPECT_TRUE(sink->idle()) << "seed " << seed;
  EXPECT_TRUE(memory.empty());
  if (storage.contents(0).size() > model.size()) {
    ADD_FAILURE() << "file too long, seed " << seed;
    return 0;
  }
  EXPECT_EQ(std::memcmp(storage.contents(0).data(), model.data(), storage.contents(0).size()), 0)
      << "seed " << seed;
  EXPECT_EQ(std::memcmp(storage.stable(0).data(), model.data(), storage.contents(0).size()), 0);
  const std::uint64_t direct_bytes = sink->counters().direct_bytes;
  sink.reset();
  EXPECT_EQ(storage.misuse(), io::Misuse{}) << "seed " << seed;
  return direct_bytes;
}

TEST(SinkRandom, BufferedGivesTheFileThatOrderDemands) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) EXPECT_EQ(random_case(seed, false), 0U);
}

TEST(SinkRandom, DirectGivesTheFileThatOrderDemands) {
  std::uint64_t direct_bytes = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) direct_bytes += random_case(seed, true);
  EXPECT_GT(direct_bytes, 10 * MiB);
}

}  // namespace
}  // namespace millrace::sink
