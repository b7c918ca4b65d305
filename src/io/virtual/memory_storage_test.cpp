// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/virtual/memory_storage.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace millrace::io {
namespace {

iovec memory(std::string& text) { return {text.data(), text.size()}; }

std::string text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Request write_of(Handle file, std::uint64_t offset, std::string& data, std::uint64_t token) {
  return {Op::write, file, offset, 0, {memory(data)}, token};
}

std::vector<Completion> drain(MemoryStorage& storage) {
  std::vector<Completion> out;
  storage.kick();
  for (int polls = 0; storage.in_flight() > 0 && polls < 1000; ++polls) storage.poll(out);
  EXPECT_EQ(storage.in_flight(), 0U);
  return out;
}

Status one(MemoryStorage& storage, Request request) {
  storage.submit(std::move(request));
  const std::vector<Completion> out = drain(storage);
  return out.size() == 1 ? out[0].status : Status(Code::invalid);
}

TEST(MemoryStorage, WritesWhatItWasGiven) {
  MemoryStorage storage;
  const Handle file = *storage.adopt(storage.create(), false);
  std::string data = "hello, file";
  EXPECT_TRUE(one(storage, write_of(file, 3, data, 7)).ok());
  EXPECT_EQ(text(storage.contents(0)), std::string(3, '\0') + data);
  EXPECT_EQ(storage.misuse(), Misuse{});
}

TEST(MemoryStorage, NothingMovesBeforeKick) {
  MemoryStorage storage;
  const Handle file = *storage.adopt(Fd(), false);
  std::string data = "x";
  storage.submit(write_of(file, 0, data, 1));
  std::vector<Completion> out;
  for (int i = 0; i < 100; ++i) storage.poll(out);
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(drain(storage).size(), 1U);
}

TEST(MemoryStorage, SameSeedGivesSameOrder) {
  const auto order = [](std::uint64_t seed) {
    MemoryStorage storage({.seed = seed});
    const Handle file = *storage.adopt(Fd(), false);
    std::vector<std::string> data(20, "some bytes");
    for (std::uint64_t i = 0; i < 20; ++i) storage.submit(write_of(file, i * 10, data[i], i));
    std::vector<std::uint64_t> tokens;
    for (const Completion& done : drain(storage)) tokens.push_back(done.token);
    return tokens;
  };
  EXPECT_EQ(order(4), order(4));
  EXPECT_NE(order(4), order(5));
}

TEST(MemoryStorage, DuplicatesShareOneImage) {
  MemoryStorage storage;
  Fd first = storage.create();
  Fd second(dup(first.get()));
  const Handle a = *storage.adopt(std::move(first), false);
  const Handle b = *storage.adopt(std::move(second), false);
  std::string data = "ab";
  EXPECT_TRUE(one(storage, write_of(a, 0, data, 1)).ok());
  EXPECT_TRUE(one(storage, write_of(b, 2, data, 1)).ok());
  EXPECT_EQ(storage.files(), 1U);
  EXPECT_EQ(text(storage.contents(0)), "abab");
}

TEST(MemoryStorage, DatasyncCoversOnlyWhatCompletedBeforeItWasSubmitted) {
  MemoryStorage storage({.max_delay_polls = 0, .shuffle = false, .short_writes = false});
  const Handle file = *storage.adopt(Fd(), false);
  std::string early = "early";
  std::string late = "later";
  EXPECT_TRUE(one(storage, write_of(file, 0, early, 1)).ok());
  storage.submit({Op::datasync, file, 0, 0, {}, 2});
  storage.submit(write_of(file, 0, late, 3));
  EXPECT_EQ(drain(storage).size(), 2U);
  EXPECT_EQ(text(storage.contents(0)), "later");
  EXPECT_EQ(text(storage.stable(0)), "early");
}

TEST(MemoryStorage, FailedDatasyncLosesItsBytes) {
  MemoryStorage storage({.faults = {{Op::datasync, 1, 0, EIO}}});
  const Handle file = *storage.adopt(Fd(), false);
  std::string data = "lost";
  EXPECT_TRUE(one(storage, write_of(file, 0, data, 1)).ok());
  EXPECT_EQ(one(storage, {Op::datasync, file, 0, 0, {}, 2}).code(), Code::io);
  EXPECT_TRUE(one(storage, {Op::datasync, file, 0, 0, {}, 3}).ok());
  EXPECT_TRUE(storage.stable(0).empty());
}

TEST(MemoryStorage, FullDeviceTakesWhatFits) {
  MemoryStorage storage({.capacity_bytes = 6});
  const Handle file = *storage.adopt(Fd(), false);
  std::string data = "four";
  EXPECT_TRUE(one(storage, write_of(file, 0, data, 1)).ok());
  EXPECT_EQ(one(storage, write_of(file, 4, data, 2)), Status(Code::no_space, ENOSPC));
  EXPECT_EQ(text(storage.contents(0)), "fourfo");
  EXPECT_TRUE(one(storage, write_of(file, 1, data, 3)).ok()) << "rewriting needs no space";
}

TEST(MemoryStorage, FaultsFollowTheirSchedule) {
  MemoryStorage storage({.faults = {{Op::write, 2, 3, EIO}}});
  const Handle file = *storage.adopt(Fd(), false);
  std::string data = "x";
  std::string seen;
  for (int i = 1; i <= 8; ++i) seen += one(storage, write_of(file, 0, data, 1)).ok() ? '.' : 'E';
  EXPECT_EQ(seen, ".E..E..E");
}

TEST(MemoryStorage, ReadStopsAtEndOfFile) {
  MemoryStorage storage;
  const Handle file = *storage.adopt(storage.create(), false);
  storage.assign(0, std::as_bytes(std::span("0123456", 7)));
  std::string into(10, '-');
  storage.submit({Op::read, file, 4, 0, {memory(into)}, 1});
  const std::vector<Completion> out = drain(storage);
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(out[0].bytes, 3U);
  EXPECT_EQ(into, "456-------");
}

TEST(MemoryStorage, SeesMemoryThatChangesInFlight) {
  MemoryStorage storage;
  const Handle file = *storage.adopt(Fd(), false);
  std::string data = "before";
  storage.submit(write_of(file, 0, data, 1));
  data[0] = 'X';
  drain(storage);
  EXPECT_GT(storage.misuse().changed_memory, 0U);
}

TEST(MemoryStorage, SeesOverlappingMisalignedAndMixedWrites) {
  MemoryStorage storage;
  Fd fd = storage.create();
  const Handle direct = *storage.adopt(Fd(dup(fd.get())), true);
  const Handle file = *storage.adopt(std::move(fd), false);
  std::string data(100, 'x');
  storage.submit(write_of(file, 0, data, 1));
  storage.submit(write_of(file, 99, data, 2));
  EXPECT_EQ(storage.misuse().overlapping_writes, 1U);
  storage.submit(write_of(direct, 300, data, 3));
  EXPECT_EQ(storage.misuse().misaligned_direct, 1U);
  EXPECT_EQ(storage.misuse().mixed_blocks, 2U);
  storage.release(file);
  EXPECT_EQ(storage.misuse().released_in_flight, 1U);
  storage.submit(write_of(file, 0, data, 4));
  EXPECT_EQ(storage.misuse().bad_handles, 1U);
  EXPECT_EQ(drain(storage).size(), 4U);
}

}  // namespace
}  // namespace millrace::io
