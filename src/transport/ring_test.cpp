// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/ring.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>
#include <thread>
#include <vector>

namespace millrace::transport {
namespace {

struct Pair {
  Producer producer;
  Consumer consumer;
};

Pair make_pair(std::uint64_t bytes = min_ring_bytes) {
  Result<Producer> producer = Producer::create(bytes);
  EXPECT_TRUE(producer.ok());
  Result<Consumer> consumer = Consumer::attach(Fd(::dup(producer->memory())), bytes);
  EXPECT_TRUE(consumer.ok());
  return {*std::move(producer), *std::move(consumer)};
}

FrameHeader write_frame(std::uint64_t offset, std::size_t length) {
  FrameHeader frame{};
  frame.kind = Kind::write;
  frame.length = static_cast<std::uint32_t>(length);
  frame.offset = offset;
  return frame;
}

std::vector<std::byte> random_bytes(std::mt19937& random, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

auto sleep_for(std::uint32_t bound_ms) {
  return [bound_ms](const std::atomic<std::uint32_t>& word) { futex_wait(word, 1, bound_ms); };
}

void produce(Producer& producer, unsigned seed, int records) {
  std::mt19937 random(seed);
  std::uint64_t offset = 0;
  for (int i = 0; i < records; ++i) {
    const std::vector<std::byte> data = random_bytes(random, random() % producer.max_payload());
    while (!producer.append(write_frame(offset, data.size()), data.data())) {
      producer.publish();
      producer.wait_room(sleep_for(100));
    }
    offset += data.size();
    if (random() % 3 == 0) producer.publish();
  }
  producer.publish();
}

// Takes `records` records and compares them with the records that the same seed makes.
void expect_records(Consumer& consumer, unsigned seed, int records) {
  std::mt19937 random(seed);
  std::uint64_t offset = 0;
  for (int i = 0; i < records; ++i) {
    while (consumer.empty()) {
      consumer.release();
      ASSERT_TRUE(consumer.snapshot());
      if (consumer.empty()) ::usleep(50);
    }
    const std::vector<std::byte> data = random_bytes(random, random() % max_payload(min_ring_bytes));
    random();
    FrameHeader frame{};
    const std::byte* payload = nullptr;
    ASSERT_TRUE(consumer.peek(frame, payload));
    ASSERT_EQ(frame.length, data.size()) << "record " << i;
    ASSERT_EQ(frame.offset, offset);
    ASSERT_EQ(frame.checksum, record_checksum(payload, frame.length, frame.offset));
    ASSERT_EQ(std::memcmp(payload, data.data(), data.size()), 0);
    consumer.consume(frame);
    offset += data.size();
  }
  consumer.release();
}

TEST(Ring, WhatTheConsumerKeepsIsNotGivenBackAndTheProducerCanReadIt) {
  auto producer = *Producer::create(min_ring_bytes);
  auto consumer = *Consumer::attach(Fd(::dup(producer.memory())), min_ring_bytes);
  const std::string text = "0123456789";
  FrameHeader frame{};
  frame.kind = Kind::write;
  frame.length = static_cast<std::uint32_t>(text.size());
  const auto kept = [&] {
    std::vector<std::uint64_t> offsets;
    producer.each_kept([&](const FrameHeader& one, const std::byte* data) {
      EXPECT_EQ(std::string(reinterpret_cast<const char*>(data), one.length), text);
      offsets.push_back(one.offset);
    });
    return offsets;
  };
  for (frame.offset = 0; frame.offset < 5; ++frame.offset) ASSERT_TRUE(producer.append(frame, text.data()));
  EXPECT_TRUE(kept().empty()) << "not published";
  producer.publish();
  EXPECT_EQ(kept().size(), 5U);
  ASSERT_TRUE(consumer.snapshot());
  const std::byte* payload = nullptr;
  FrameHeader seen{};
  for (std::uint64_t i = 0; i < 4; ++i) {
    if (i == 2) consumer.keep_from(consumer.position());
    ASSERT_TRUE(consumer.peek(seen, payload));
    consumer.consume(seen);
  }
  consumer.release();
  EXPECT_EQ(kept(), (std::vector<std::uint64_t>{2, 3, 4}));
  consumer.keep_from(UINT64_MAX);
  consumer.release();
  EXPECT_EQ(kept(), std::vector<std::uint64_t>{4});
}

TEST(Ring, CarriesRandomRecordsBetweenThreads) {
  Pair pair = make_pair();
  std::thread thread([&] { produce(pair.producer, 1, 3000); });
  expect_records(pair.consumer, 1, 3000);
  thread.join();
  EXPECT_EQ(pair.consumer.fill(), 0u);
}

TEST(Ring, CarriesRandomRecordsBetweenProcesses) {
  Pair pair = make_pair();
  const pid_t child = ::fork();
  if (child == 0) {
    produce(pair.producer, 2, 3000);
    ::_exit(0);
  }
  expect_records(pair.consumer, 2, 3000);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Ring, AFullRingTakesNothingMoreUntilHalfIsFree) {
  Pair pair = make_pair();
  const std::vector<std::byte> data(4096);
  int taken = 0;
  while (pair.producer.append(write_frame(0, data.size()), data.data())) ++taken;
  EXPECT_EQ(taken, static_cast<int>(min_ring_bytes / record_bytes(4096)));
  pair.producer.publish();
  EXPECT_FALSE(pair.producer.wait_room(sleep_for(1)));
  ASSERT_TRUE(pair.consumer.snapshot());
  pair.producer.header().producer_waits = 1;
  for (int i = 0; i < taken; ++i) {
    FrameHeader frame{};
    const std::byte* payload = nullptr;
    ASSERT_TRUE(pair.consumer.peek(frame, payload));
    pair.consumer.consume(frame);
    pair.consumer.release();
    const bool half_free = (taken - i - 1) * record_bytes(4096) <= min_ring_bytes / 2;
    EXPECT_EQ(pair.producer.header().producer_waits.load(), half_free ? 0u : 1u) << i;
  }
  EXPECT_TRUE(pair.producer.append(write_frame(0, data.size()), data.data()));
}

TEST(Ring, ImpossibleTailsAndLengthsAreSeen) {
  Pair pair = make_pair();
  pair.producer.header().tail = min_ring_bytes + 1;
  EXPECT_FALSE(pair.consumer.snapshot());
  pair.producer.header().tail = 16;  // less than a header
  ASSERT_TRUE(pair.consumer.snapshot());
  FrameHeader frame{};
  const std::byte* payload = nullptr;
  EXPECT_FALSE(pair.consumer.peek(frame, payload));
  pair.producer.header().tail = 8;  // backwards
  EXPECT_FALSE(pair.consumer.snapshot());
}

TEST(Ring, ALengthBeyondWhatWasPublishedIsSeen) {
  for (const std::uint32_t length : {100u, 20000u, UINT32_MAX}) {
    Pair pair = make_pair();
    std::byte small[8] = {};
    FrameHeader frame = write_frame(0, 8);
    ASSERT_TRUE(pair.producer.append(frame, small));
    pair.producer.publish();
    // The producer's mapping is private, so the test writes through its own mapping.
    Result<Mapping> whole = map(pair.producer.memory(), header_bytes + min_ring_bytes);
    std::memcpy(whole->data() + header_bytes, &length, sizeof length);
    ASSERT_TRUE(pair.consumer.snapshot());
    const std::byte* payload = nullptr;
    EXPECT_FALSE(pair.consumer.peek(frame, payload)) << length;
  }
}

TEST(Ring, MemoryThatIsNotSealedOrOfAnotherSizeIsRefused) {
  Result<Producer> producer = Producer::create(min_ring_bytes);
  EXPECT_FALSE(Consumer::attach(Fd(::dup(producer->memory())), 2 * min_ring_bytes).ok());
  EXPECT_FALSE(Consumer::attach(Fd(::dup(producer->memory())), min_ring_bytes - 4096).ok());
  EXPECT_FALSE(Producer::create(min_ring_bytes + 4096).ok());
}

TEST(Ring, AnswersReachTheirSlot) {
  Pair pair = make_pair();
  pair.consumer.answer(reply_slots + 3, {Code::no_space, ENOSPC});
  ReplySlot& slot = pair.producer.header().replies[3];
  EXPECT_EQ(slot.done.load(), reply_slots + 3);
  EXPECT_EQ(slot.code.load(), static_cast<std::uint32_t>(Code::no_space));
}

}  // namespace
}  // namespace millrace::transport
