// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/virtual/virtual_disk.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>

namespace millrace::io {
namespace {

constexpr std::uint64_t second_ns = 1'000'000'000;

struct World {
  Timeline timeline{1};
  Trace trace;
  VirtualDisk disk;
  Fd fd;
  Handle file;
  std::vector<std::byte> data = std::vector<std::byte>(1 << 20, std::byte{7});

  explicit World(const DiskOptions& options = {}) : disk(timeline, trace, 2, options), fd(disk.create()) {
    file = *storage().adopt(Fd(::dup(fd.get())), false);
  }
  Storage& storage() { return disk.of(0); }

  void submit(Op op, std::uint64_t offset = 0, std::size_t bytes = 0) {
    Request request{op, file, offset, bytes, {}, 1};
    if (bytes > 0 && op != Op::writeback) request.data.push_back({data.data(), bytes});
    storage().submit(std::move(request));
    storage().kick();
  }
  // Carries out a request. Returns its completion and the time that it took.
  std::pair<Completion, std::uint64_t> run(Op op, std::uint64_t offset = 0, std::size_t bytes = 0) {
    const std::uint64_t begin = timeline.now_ns();
    submit(op, offset, bytes);
    std::vector<Completion> done;
    do storage().poll(done);
    while (done.empty() && timeline.step());
    return {done.at(0), timeline.now_ns() - begin};
  }
};

TEST(VirtualDisk, WhatAnotherMachineHasWrittenIsReadAndOutlivesACrash) {
  World world;
  world.disk.put(world.fd, std::vector<std::byte>(700, std::byte{8}));
  world.disk.put(world.fd, std::vector<std::byte>(300, std::byte{9}));
  EXPECT_EQ(world.run(Op::read, 0, 1000).first.bytes, 300u);
  EXPECT_EQ(world.data[299], std::byte{9});
  world.disk.crash(0, true);
  EXPECT_EQ(world.disk.stable(0).size(), 300u);
  EXPECT_EQ(world.disk.contents(0)[0], std::byte{9});
}

TEST(VirtualDisk, TheCacheIsQuickAndADatasyncWaitsForTheDisk) {
  World world;
  EXPECT_LT(world.run(Op::write, 0, 1 << 20).second, second_ns / 1000);
  EXPECT_TRUE(world.disk.stable(0).empty());
  EXPECT_GT(world.run(Op::datasync).second, second_ns / 250) << "1 MiB at 200 MB/s";
  EXPECT_TRUE(std::ranges::equal(world.disk.stable(0), world.data));
}

TEST(VirtualDisk, MoreThanTheCacheHoldsGoesAtTheRateOfTheDisk) {
  World world(DiskOptions{.cache_bytes = 4 << 20});
  const std::uint64_t begin = world.timeline.now_ns();
  for (std::uint64_t i = 0; i < 100; ++i) (void)world.run(Op::write, i << 20, 1 << 20);
  const std::uint64_t expected = duration_ns(96 << 20, DiskOptions().rate_bytes_per_second);
  EXPECT_GT(world.timeline.now_ns() - begin, expected * 95 / 100);
  EXPECT_LT(world.timeline.now_ns() - begin, expected * 115 / 100);
}

TEST(VirtualDisk, SeeksCost) {
  const auto time = [](std::uint64_t step) {
    World world;
    for (std::uint64_t i = 0; i < 100; ++i) (void)world.run(Op::write, i * step, 4096);
    (void)world.run(Op::datasync);
    return world.timeline.now_ns();
  };
  EXPECT_GT(time(8192), time(4096) + 90 * DiskOptions().seek_ns);
}

TEST(VirtualDisk, AFullDiskTakesWhatFits) {
  World world(DiskOptions{.capacity_bytes = 10'000});
  const auto [done, took] = world.run(Op::write, 0, 1 << 20);
  EXPECT_EQ(done.status.code(), Code::no_space);
  EXPECT_EQ(done.bytes, 10'000u);
  EXPECT_TRUE(world.run(Op::write, 5'000, 5'000).first.status.ok());
}

TEST(VirtualDisk, APlannedErrorIsOfTheRequestThatWasMeant) {
  World world;
  world.disk.faults().fail(Op::write, 1, EIO);
  EXPECT_TRUE(world.run(Op::write, 0, 4096).first.status.ok());
  EXPECT_EQ(world.run(Op::write, 4096, 4096).first.status.code(), Code::io);
  EXPECT_TRUE(world.run(Op::write, 8192, 4096).first.status.ok());
}

TEST(VirtualDisk, EveryHandleOfANodeIsToldOnceOfAFailedDatasync) {
  World world;
  const Handle other = *world.storage().adopt(Fd(::dup(world.fd.get())), false);
  (void)world.run(Op::write, 0, 4096);
  world.disk.faults().fail(Op::datasync, 0, EIO);
  EXPECT_FALSE(world.run(Op::datasync).first.status.ok());
  EXPECT_TRUE(world.run(Op::datasync).first.status.ok());
  world.file = other;
  EXPECT_FALSE(world.run(Op::datasync).first.status.ok());
  EXPECT_TRUE(world.disk.stable(0).empty());
}

TEST(VirtualDisk, ACloseTellsOnceOfLostBytesToTheProcessThatWroteThem) {
  World world;
  const VirtualDisk::Process other = world.disk.start(0);
  const Handle file = *world.disk.of(other).adopt(Fd(::dup(world.fd.get())), false);
  (void)world.run(Op::write, 0, 64 << 10);
  world.disk.faults().fail(Op::close, 0, EIO);
  EXPECT_EQ(world.disk.of(other).close(file), 0);
  EXPECT_FALSE(world.disk.has_refused());
  EXPECT_EQ(world.disk.of(0).close(world.file), EIO);
  EXPECT_TRUE(world.disk.has_refused());
  EXPECT_FALSE(std::ranges::equal(world.disk.contents(0), std::span(world.data).first(64 << 10)));
  EXPECT_EQ(world.disk.of(0).close(world.file), 0);
  EXPECT_FALSE(world.run(Op::datasync).first.status.ok()) << "but a datasync tells it too";
}

TEST(VirtualDisk, ACloseTellsNothingOfBytesThatAreOnTheDisk) {
  World world;
  (void)world.run(Op::write, 0, 4096);
  (void)world.run(Op::datasync);
  world.disk.faults().fail(Op::close, 0, EIO);
  EXPECT_EQ(world.disk.of(0).close(world.file), 0);
}

TEST(VirtualDisk, ACrashedHostLosesOnlyWhatWasNotSynced) {
  World world;
  (void)world.run(Op::write, 0, 512 << 10);
  (void)world.run(Op::datasync);
  (void)world.run(Op::write, 512 << 10, 512 << 10);
  world.disk.crash(0, true);
  const auto left = world.disk.contents(0);
  ASSERT_EQ(left.size(), 1u << 20);
  const auto kept = std::ranges::count(left, std::byte{7});
  EXPECT_EQ(std::ranges::count(left.first(512 << 10), std::byte{7}), 512 << 10);
  EXPECT_GT(kept, 600 << 10) << "of the other half, chance decides";
  EXPECT_LT(kept, 950 << 10);
}

TEST(VirtualDisk, RequestsOfACrashedProcessEndAtOnce) {
  World world;
  world.submit(Op::write, 0, 1 << 20);
  world.disk.crash(0, false);
  world.submit(Op::datasync);
  std::vector<Completion> done;
  world.storage().poll(done);
  ASSERT_EQ(done.size(), 2u);
  for (const Completion& one : done) EXPECT_FALSE(one.status.ok());
}

TEST(VirtualDisk, AnotherProcessOfTheNodeGoesOnAfterOneThatWasKilled) {
  World world;
  (void)world.run(Op::write, 0, 4096);
  world.disk.crash(0, false);
  const VirtualDisk::Process next = world.disk.start(0);
  Storage& storage = world.disk.of(next);
  const Handle handle = *storage.adopt(Fd(::dup(world.fd.get())), false);
  storage.submit({Op::datasync, handle, 0, 0, {}, 1});
  storage.kick();
  std::vector<Completion> done;
  do storage.poll(done);
  while (done.empty() && world.timeline.step());
  ASSERT_EQ(done.size(), 1u);
  EXPECT_TRUE(done[0].status.ok());
  EXPECT_EQ(world.disk.stable(0).size(), 4096u) << "what the first one wrote was in the node's cache";
  world.disk.crash(0, true);
  storage.submit({Op::datasync, handle, 0, 0, {}, 2});
  storage.kick();
  storage.poll(done);
  ASSERT_EQ(done.size(), 2u);
  EXPECT_FALSE(done[1].status.ok()) << "a lost host takes all its processes with it";
}

TEST(VirtualDisk, ADiskThatIsRepairedFailsNoMore) {
  World world(DiskOptions{.capacity_bytes = 100'000});
  world.disk.faults().set_capacity(10);
  world.disk.faults().fail(Op::write, 0, EIO);
  world.disk.faults().repair();
  EXPECT_TRUE(world.run(Op::write, 0, 4096).first.status.ok());
}

TEST(VirtualDisk, WhatHasANameStaysUntilItLosesIt) {
  World world;
  std::string path = testing::TempDir() + "virtual_disk_test-XXXXXX";
  Fd named(::mkstemp(path.data()));
  ASSERT_TRUE(named.valid());
  const Fd again(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(world.disk.knows(again));
  const Handle target = world.file;
  world.file = *world.storage().adopt(std::move(named), false);
  (void)world.run(Op::write, 0, 100);
  world.storage().release(std::exchange(world.file, target));
  EXPECT_TRUE(world.disk.knows(again));
  EXPECT_EQ(world.disk.contents(again).size(), 100u);
  ::unlink(path.c_str());
  (void)world.run(Op::write, 0, 100);
  EXPECT_FALSE(world.disk.knows(again));
}

TEST(VirtualDisk, WhatHasNoNameGoesWithItsLastHandle) {
  World world(DiskOptions{.capacity_bytes = 10'000});
  Fd other(::memfd_create("journal", MFD_CLOEXEC));
  const Handle target = world.file;
  world.file = *world.storage().adopt(std::move(other), false);
  EXPECT_TRUE(world.run(Op::write, 0, 8'000).first.status.ok());
  world.storage().release(std::exchange(world.file, target));
  EXPECT_TRUE(world.run(Op::write, 0, 8'000).first.status.ok()) << "its room is free again";
  while (world.timeline.step()) {
  }
  EXPECT_EQ(world.disk.stable(0).size(), 8'000u);
}

TEST(VirtualDisk, MemoryThatChangesTooEarlyIsNoticed) {
  World world;
  world.submit(Op::write, 0, 4096);
  world.data[5] = std::byte{1};
  while (world.timeline.step()) {
  }
  EXPECT_EQ(world.disk.misuses(), 1u);
}

TEST(VirtualDisk, OverlappingWritesInFlightAreNoticed) {
  World world;
  world.submit(Op::write, 0, 4096);
  world.submit(Op::write, 4095, 4096);
  EXPECT_EQ(world.disk.misuses(), 1u);
}

}  // namespace
}  // namespace millrace::io
