// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "staging/staging.hpp"

#include <sys/resource.h>

#include <cerrno>
#include <thread>

#include "staging/testing/faulty_calls.hpp"
#include "staging/testing/rig.hpp"

namespace millrace::staging {
namespace {

using namespace testing;

constexpr Shape small{2, 4096, 4096};

using StagingTest = EachDevice;
INSTANTIATE_TEST_SUITE_P(All, StagingTest, ::testing::ValuesIn(backends()), backend_name);

std::unique_ptr<Staging> make(Device& device, const Shape& shape = small) {
  Result<std::unique_ptr<Staging>> staging = Staging::create(device, shape);
  EXPECT_TRUE(staging.ok()) << staging.status().describe();
  return staging.ok() ? *std::move(staging) : nullptr;
}

// The sizes are around every border between pieces, for one, two and three slots.
TEST_P(StagingTest, EverySizeIsWrittenAndReadBack) {
  for (const std::size_t slots : {1UL, 2UL, 3UL}) {
    const auto staging = make(*device, {slots, 4096, 4096});
    ASSERT_NE(staging, nullptr);
    EXPECT_TRUE(staging->pinned().ok());
    for (std::size_t pieces = 0; pieces <= 5; ++pieces) {
      for (const int more : {-1, 0, 1}) {
        if (pieces == 0 && more < 0) continue;
        const std::size_t size = pieces * 4096 + static_cast<std::size_t>(more);
        const Bytes bytes = pattern(size, size);
        Memory from(*device, bytes);
        Memory to(*device, size);
        const File file;
        FileEnd out(file.get());
        const Moved written = staging->write_through(from.at(), size, out);
        EXPECT_EQ(written.count(), static_cast<ssize_t>(size));
        EXPECT_EQ(file.contents(), bytes);
        FileEnd in(file.get(), 0);
        EXPECT_EQ(staging->read_through(in, to.at(), size).count(), static_cast<ssize_t>(size));
        EXPECT_EQ(to.get(), bytes) << size << " bytes, " << slots << " slots";
      }
    }
  }
}

TEST_P(StagingTest, RandomTransfersAreThoseOfPlainFiles) {
  std::mt19937_64 dice(test_seed());
  const auto staging = make(*device, {2, 64 * KiB, 8 * KiB});
  const std::size_t most = 600'000;
  Bytes model(most);
  const File file(model);
  for (int i = 0; i < 20; ++i) {
    const std::size_t offset = dice() % most;
    const std::size_t size = dice() % (most - offset) + 1;
    const Bytes bytes = pattern(size, dice());
    Memory memory(*device, bytes);
    FileEnd end(file.get(), offset);
    if (dice() % 2 == 0) {
      ASSERT_EQ(staging->write_through(memory.at(), size, end).count(), static_cast<ssize_t>(size));
      std::copy(bytes.begin(), bytes.end(), model.begin() + static_cast<std::ptrdiff_t>(offset));
      ASSERT_EQ(file.contents(), model) << "seed " << test_seed();
    } else {
      ASSERT_EQ(staging->read_through(end, memory.at(), size).count(), static_cast<ssize_t>(size));
      const auto begin = model.begin() + static_cast<std::ptrdiff_t>(offset);
      ASSERT_EQ(memory.get(), Bytes(begin, begin + static_cast<std::ptrdiff_t>(size)));
    }
  }
}

TEST_P(StagingTest, AReadEndsWithTheFile) {
  const auto staging = make(*device);
  const Bytes bytes = pattern(10'000);
  const File file(bytes);
  Memory memory(*device, 20'000);
  FileEnd end(file.get());
  lseek(file.get(), 0, SEEK_SET);
  EXPECT_EQ(staging->read_through(end, memory.at(), 20'000).count(), 10'000);
  EXPECT_EQ(file.position(), 10'000);
  EXPECT_EQ(staging->read_through(end, memory.at(), 20'000).count(), 0);
  EXPECT_EQ(first(memory.get(), 10'000), bytes);
}

// For every error at every call: the count is the number of bytes in the file, and an error without a count
// is returned.
TEST_P(StagingTest, AWriteThatFailsHasWrittenWhatItSays) {
  const auto staging = make(*device);
  const Bytes bytes = pattern(20'000);
  Memory memory(*device, bytes);
  for (const int error : {0, ENOSPC, EIO, EINTR, EAGAIN, EPIPE}) {
    for (std::uint64_t at = 1; at <= 5; ++at) {
      const File file;
      fault = {at, error, 1000};
      FileEnd end(file.get(), faulty_calls);
      const Moved moved = staging->write_through(memory.at(), bytes.size(), end);
      const std::size_t before = (at - 1) * 4096;
      const std::size_t wanted = error != 0 ? before : std::min(bytes.size(), before + 4096) - 1000;
      EXPECT_EQ(moved.bytes, wanted) << error << " at " << at;
      EXPECT_EQ(moved.status.error(), error);
      EXPECT_EQ(moved.count(), wanted > 0 ? static_cast<ssize_t>(wanted) : -error);
      EXPECT_EQ(file.contents(), first(bytes, wanted));
      EXPECT_EQ(fault.calls, at) << "no call after the one that failed";
    }
  }
  fault = {};
}

TEST_P(StagingTest, AReadThatFailsHasReadWhatItSays) {
  const auto staging = make(*device);
  const Bytes bytes = pattern(20'000);
  const File file(bytes);
  for (const int error : {0, EIO, EINTR, EAGAIN}) {
    for (std::uint64_t at = 1; at <= 5; ++at) {
      Memory memory(*device, Bytes(bytes.size()));
      lseek(file.get(), 0, SEEK_SET);
      fault = {at, error, 1000};
      FileEnd end(file.get(), faulty_calls);
      const Moved moved = staging->read_through(end, memory.at(), bytes.size());
      const std::size_t before = (at - 1) * 4096;
      const std::size_t wanted = error != 0 ? before : std::min(bytes.size(), before + 4096) - 1000;
      EXPECT_EQ(moved.bytes, wanted) << error << " at " << at;
      EXPECT_EQ(moved.count(), wanted > 0 ? static_cast<ssize_t>(wanted) : -error);
      EXPECT_EQ(first(memory.get(), wanted), first(bytes, wanted));
      EXPECT_EQ(file.position(), static_cast<off_t>(wanted));
    }
  }
  fault = {};
}

TEST_P(StagingTest, MemoryThatEndsTooEarlyGivesAShortCountThenAFault) {
  const auto staging = make(*device);
  const Bytes bytes = pattern(8192);
  Memory memory(*device, bytes);
  const Address end_of_memory = memory.at() + 8192;
  File file;
  FileEnd out(file.get());
  const Moved written = staging->write_through(memory.at() + 4096, 12'288, out);
  // In the process backend, other memory of the helper lies behind the block.
  if (GetParam() != "process") {
    EXPECT_EQ(written.count(), 4096);
    EXPECT_EQ(staging->write_through(end_of_memory, 4096, out).count(), -EFAULT);
  }
  EXPECT_EQ(first(file.contents(), 4096), Bytes(bytes.begin() + 4096, bytes.end()));
  if (GetParam() == "process") return;
  const File source(pattern(12'288, 2));
  FileEnd in(source.get());
  lseek(source.get(), 0, SEEK_SET);
  EXPECT_EQ(staging->read_through(in, memory.at() + 4096, 12'288).count(), 4096);
  EXPECT_EQ(source.position(), 4096) << "what did not arrive is there to be read";
}

TEST_P(StagingTest, APipesReaderGetsWhatIsThere) {
  const auto staging = make(*device);
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const Fd out(ends[0]);
  const Fd in(ends[1]);
  const Bytes bytes = pattern(8192);
  ASSERT_EQ(write(in.get(), bytes.data(), bytes.size()), 8192);
  Memory memory(*device, 40'000);
  FileEnd end(out.get());
  EXPECT_EQ(staging->read_through(end, memory.at(), 40'000).count(), 8192) << "the third piece would wait";
  EXPECT_EQ(first(memory.get(), 8192), bytes);
  EXPECT_EQ(staging->read_through(end, memory.at(), 100, false).count(), 0) << "nor does the first, if told";
}

TEST_P(StagingTest, APipesWriterIsHeldUpUntilAllIsTaken) {
  const auto staging = make(*device);
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const Fd out(ends[0]);
  const Fd in(ends[1]);
  const Bytes bytes = pattern(300'000);
  Bytes got(bytes.size());
  std::thread reader([&] {
    for (std::size_t done = 0; done < got.size();) {
      const ssize_t some = read(out.get(), got.data() + done, got.size() - done);
      if (some <= 0) break;
      done += static_cast<std::size_t>(some);
    }
  });
  Memory memory(*device, bytes);
  FileEnd end(in.get());
  EXPECT_EQ(staging->write_through(memory.at(), bytes.size(), end).count(), 300'000);
  reader.join();
  EXPECT_EQ(got, bytes);
}

TEST_P(StagingTest, WhatIsBeyondAFileSizeLimitIsNotCounted) {
  const auto staging = make(*device);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, SIG_IGN);
  std::string path = ::testing::TempDir() + "millrace-staging-XXXXXX";
  const Fd file(mkostemp(path.data(), O_CLOEXEC));
  unlink(path.c_str());
  const rlimit low{10'000, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
  Memory memory(*device, pattern(20'000));
  FileEnd end(file.get());
  EXPECT_EQ(staging->write_through(memory.at(), 20'000, end).count(), 10'000);
  EXPECT_EQ(staging->write_through(memory.at(), 20'000, end).count(), -EFBIG);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
}

TEST(ShapeTest, SmallRequestsAreCutSoThatCopiesOverlap) {
  const Shape standard;
  EXPECT_EQ(standard.piece_bytes(64 * MiB), 2 * MiB);
  EXPECT_EQ(standard.piece_bytes(8 * MiB), 1 * MiB);
  EXPECT_EQ(standard.piece_bytes(1), 512 * KiB);
  EXPECT_EQ(standard.piece_bytes(8 * MiB + 1) % 4096, 0U);
  EXPECT_EQ((Shape{8, 8 * MiB, 8 * MiB}.piece_bytes(16 * MiB)), 8 * MiB);
}

}  // namespace
}  // namespace millrace::staging
