// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "staging/pool.hpp"

#include <sys/resource.h>
#include <sys/wait.h>

#include <atomic>
#include <cerrno>
#include <fstream>
#include <thread>

#include "staging/testing/faulty_calls.hpp"
#include "staging/testing/rig.hpp"

namespace millrace::staging {
namespace {

using namespace testing;

std::atomic<int> lines_told;
std::string last_line;

void tell(const char* line) {
  ++lines_told;
  last_line = line;
}

constexpr PoolOptions small{.shape = {2, 16 * KiB, 4 * KiB}, .bytes_max = 128 * KiB, .tell = tell};

class PoolTest : public EachDevice {
 protected:
  void SetUp() override {
    EachDevice::SetUp();
    lines_told = 0;
  }
};
INSTANTIATE_TEST_SUITE_P(All, PoolTest, ::testing::ValuesIn(backends()), backend_name);

// Writes bytes to a file and reads them back. True if they are the same.
bool round_trip(Pool& pool, Device& device, std::size_t size, std::uint64_t seed) {
  const Bytes bytes = pattern(size, seed);
  Memory from(device, bytes);
  Memory to(device, size);
  const File file;
  FileEnd out(file.get());
  FileEnd in(file.get(), 0);
  return pool.write(device, from.at(), size, out).count() == static_cast<ssize_t>(size) &&
         pool.read(device, in, to.at(), size).count() == static_cast<ssize_t>(size) && to.get() == bytes;
}

TEST_P(PoolTest, OneRingServesCallAfterCall) {
  Pool pool(small);
  for (unsigned i = 0; i < 5; ++i) EXPECT_TRUE(round_trip(pool, *device, 100'000, i));
  EXPECT_EQ(pool.counts().peak_bytes, 32 * KiB);
  EXPECT_EQ(pool.counts().narrow, 0U);
  EXPECT_EQ(lines_told, 0);
}

TEST_P(PoolTest, ManyThreadsAndLargeRequestsStayWithinTheBound) {
  PoolOptions options = small;
  options.patience_ms = 5;
  Pool pool(options);
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const Fd out(ends[0]);
  Fd in(ends[1]);
  // This thread keeps a ring until the others are done, so they have to share the other ring.
  std::thread waiting([&] {
    Memory to(*device, 10);
    FileEnd end(out.get());
    (void)pool.read(*device, end, to.at(), 10);
  });
  for (int tries = 0; tries < 5000 && pool.counts().bytes == 0; ++tries) usleep(1000);
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 12; ++i) {
    threads.emplace_back([&, i] {
      for (unsigned round = 0; round < 3; ++round)
        right += round_trip(pool, *device, 400'000 + i * 1000, i * 10 + round);
    });
  }
  for (std::thread& thread : threads) thread.join();
  in = Fd();
  waiting.join();
  EXPECT_EQ(right, 36);
  EXPECT_LE(pool.counts().peak_bytes, options.bytes_max);
  EXPECT_GT(pool.counts().peak_bytes, 32 * KiB) << "some ran at the same time";
}

TEST_P(PoolTest, ABoundBelowAShapeMakesSmallerSlots) {
  PoolOptions options;
  options.bytes_max = 1 * MiB;
  Pool pool(options);
  EXPECT_TRUE(round_trip(pool, *device, 3'000'000, 1));
  EXPECT_LE(pool.counts().peak_bytes, 1 * MiB);
}

// A call has the only ring and blocks in a pipe. The other call has to fill that pipe.
TEST_P(PoolTest, ACallThatBlocksDoesNotStopTheOneThatItWaitsFor) {
  PoolOptions options = small;
  options.bytes_max = 32 * KiB;
  options.patience_ms = 20;
  Pool pool(options);
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const Fd out(ends[0]);
  const Fd in(ends[1]);
  const Bytes bytes = pattern(3000);
  Memory from(*device, bytes);
  Memory to(*device, 3000);
  std::atomic<ssize_t> got = 0;
  std::thread reader([&] {
    FileEnd end(out.get());
    got = pool.read(*device, end, to.at(), 3000).count();
  });
  for (int tries = 0; tries < 5000 && pool.counts().bytes == 0; ++tries) usleep(1000);
  usleep(20'000);
  FileEnd end(in.get());
  EXPECT_EQ(pool.write(*device, from.at(), 3000, end).count(), 3000);
  reader.join();
  EXPECT_EQ(got, 3000);
  EXPECT_EQ(to.get(), bytes);
  EXPECT_GT(pool.counts().narrow, 0U);
  EXPECT_LE(pool.counts().peak_bytes, options.bytes_max);
}

TEST_P(PoolTest, ADevicesRingsMakeRoomForAnothers) {
  PoolOptions options = small;
  options.bytes_max = 32 * KiB;
  Pool pool(options);
  HostDevice other;
  EXPECT_TRUE(round_trip(pool, *device, 50'000, 1));
  EXPECT_TRUE(round_trip(pool, other, 50'000, 2));
  EXPECT_TRUE(round_trip(pool, *device, 50'000, 3));
  EXPECT_EQ(pool.counts().narrow, 0U);
  EXPECT_LE(pool.counts().peak_bytes, options.bytes_max);
}

TEST_P(PoolTest, ForgettingADeviceGivesItsMemoryBack) {
  Pool pool(small);
  EXPECT_TRUE(round_trip(pool, *device, 50'000, 1));
  pool.forget(*device);
  EXPECT_EQ(pool.counts().bytes, 0U);
  EXPECT_TRUE(round_trip(pool, *device, 50'000, 2));
}

TEST_P(PoolTest, RequestsAreClampedAsTheKernelDoes) {
  if (GetParam() != "host_at_once") return;
  PoolOptions options;
  Pool pool(options);
  struct Counting final : End {
    std::uint64_t bytes = 0;
    ssize_t write(std::span<const std::byte> from) override {
      bytes += from.size();
      return static_cast<ssize_t>(from.size());
    }
    ssize_t read(std::span<std::byte>) override { return -EIO; }
    bool ready() override { return true; }
    void unread(std::uint64_t) override {}
  } end;
  // Pages that were never written are zeros.
  Memory memory(*device, request_max + 10 * MiB);
  EXPECT_EQ(pool.write(*device, memory.at(), request_max + 10 * MiB, end).bytes, request_max);
  EXPECT_EQ(end.bytes, request_max);
}

TEST_P(PoolTest, AChildOfForkIsToldThatItHasNoDevice) {
  Pool pool(small);
  EXPECT_TRUE(round_trip(pool, *device, 50'000, 1));
  Memory memory(*device, pattern(5000));
  const File file;
  const pid_t child = fork();
  if (child == 0) {
    FileEnd end(file.get());
    _exit(pool.write(*device, memory.at(), 5000, end).count() == -EFAULT && file.size() == 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(round_trip(pool, *device, 50'000, 2)) << "the parent's is untouched";
}

// Runs as a user without privileges who may lock no memory. Runs in a child process, because a lowered limit
// cannot be raised again.
TEST(PoolMemlockTest, WithoutLockedMemoryItWorksAndSaysSoOnce) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit none{0, 0};
    if (setrlimit(RLIMIT_MEMLOCK, &none) != 0) _exit(2);
    if (getuid() == 0 && setresuid(65534, 65534, 65534) != 0) _exit(3);
    char page = 0;
    if (mlock(&page, 1) == 0) _exit(77);  // sanitizers disable locking
    HostDevice device;
    lines_told = 0;
    bool right = true;
    {
      Pool pool(small);
      for (unsigned i = 0; i < 3; ++i) right = round_trip(pool, device, 100'000, i) && right;
      pool.forget(device);
      right = round_trip(pool, device, 100'000, 4) && right;
      right = right && pool.counts().unpinned == 2;
    }
    const bool helpful = last_line.find("ulimit -l") != std::string::npos;
    _exit(right && lines_told == 1 && helpful && !::testing::Test::HasFailure() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "memory is locked whatever the limit";
  EXPECT_EQ(status, 0);
}

// The locked memory of this process (VmLck).
std::uint64_t locked_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmLck:")) return std::strtoull(line.c_str() + 6, nullptr, 10);
  }
  return UINT64_MAX;
}

TEST(PoolPinsTest, WhatIsPinnedIsUnpinned) {
  const std::uint64_t before = locked_kib();
  {
    HostDevice device;
    Pool pool(small);
    ASSERT_TRUE(round_trip(pool, device, 100'000, 1));
    // Sanitizers disable locking.
    if (locked_kib() == before) GTEST_SKIP() << "nothing is locked here";
    EXPECT_EQ(locked_kib(), before + 32);
  }
  EXPECT_EQ(locked_kib(), before);
}

// A copy that never ends costs its ring and gives an error in time. Later calls succeed.
TEST(PoolStuckTest, ACopyThatDoesNotEndIsAnErrorInTime) {
  CopyOptions slow;
  slow.delays.latency_ns = {3'000'000'000, 0};
  slow.timeout_ms = 100;
  // Never destroyed, because the copy still runs. Devices of a preload are never destroyed either.
  static auto& device = *new HostDevice(slow);
  static auto& pool = *new Pool(small);
  const Result<Address> memory = device.allocate(5000), other = device.allocate(5000);
  ASSERT_TRUE(memory.ok() && other.ok());
  const File file;
  FileEnd end(file.get());
  const auto begin = std::chrono::steady_clock::now();
  const Moved moved = pool.write(device, *memory, 5000, end);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  EXPECT_EQ(moved.status.code(), Code::timeout);
  EXPECT_EQ(moved.count(), -EIO);
  EXPECT_EQ(pool.counts().retired, 1U);
  EXPECT_EQ(pool.counts().bytes, 32 * KiB) << "it is counted for ever";
  const Bytes source = pattern(5000);
  const File from(source);
  FileEnd in(from.get(), 0);
  // The copy may still read `memory`.
  EXPECT_EQ(pool.read(device, in, *other, 5000).count(), 5000) << "with another ring";
}

}  // namespace
}  // namespace millrace::staging
