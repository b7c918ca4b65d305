// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/posix/gap_lock.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace millrace::io {
namespace {

using WriterKind = GapLock::WriterKind;

class Gaps : public testing::Test {
 protected:
  void SetUp() override {
    folder = testing::TempDir() + "millrace-gaps-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  }
  void TearDown() override { ::rmdir(folder.c_str()); }

  // `root`: as a process sees it that is in another container.
  std::function<GapLock::GapPlace()> file(std::uint64_t number = 7, const char* root = "/",
                                          std::string own = {}) const {
    const auto open = [](const std::string& path) {
      return Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    };
    return [=, this] { return GapLock::GapPlace{{open(root), open(own.empty() ? folder : own)}, number}; };
  }
  static bool writes(GapLock& lock, WriterKind kind) {
    const bool may = lock.begin(kind);
    if (may) lock.end();
    return may;
  }
  // Two small pieces: the first has a lock of its own.
  static bool writes_pieces(GapLock& lock) {
    return !writes(lock, WriterKind::pieces) && writes(lock, WriterKind::pieces);
  }

  std::string folder;
};

TEST_F(Gaps, OneKindOfWriterAtATime) {
  GapLock one(file()), other(file()), third(file());
  EXPECT_TRUE(writes_pieces(one));
  EXPECT_TRUE(writes_pieces(other));
  EXPECT_FALSE(writes(third, WriterKind::sieve));
  one.leave();
  EXPECT_FALSE(writes(third, WriterKind::sieve)) << "the other one still writes pieces";
  other.leave();
  EXPECT_TRUE(writes(third, WriterKind::sieve));
  EXPECT_TRUE(writes(one, WriterKind::sieve));
  EXPECT_FALSE(writes_pieces(other));
  EXPECT_FALSE(writes(other, WriterKind::pieces)) << "no system call for each piece";
  one.leave();
  third.leave();
  other.leave();
  EXPECT_TRUE(writes_pieces(other));
}

TEST_F(Gaps, AWriterChangesItsKindByItself) {
  GapLock one(file());
  EXPECT_TRUE(writes_pieces(one));
  EXPECT_TRUE(writes(one, WriterKind::sieve));
  EXPECT_FALSE(writes(one, WriterKind::pieces)) << "it sieves until it leaves";
}

TEST_F(Gaps, FilesOfOneFolderAreApart) {
  GapLock one(file(7)), other(file(8));
  EXPECT_TRUE(writes_pieces(one));
  EXPECT_TRUE(writes(other, WriterKind::sieve));
}

TEST_F(Gaps, AFileMayHaveTwoNamesOrBeSharedByContainers) {
  GapLock one(file()), by_another_name(file(7, "/", "/usr")), in_a_container(file(7, "/usr"));
  EXPECT_TRUE(writes_pieces(one));
  EXPECT_FALSE(writes(by_another_name, WriterKind::sieve));
  EXPECT_FALSE(writes(in_a_container, WriterKind::sieve));
  one.leave();
  EXPECT_TRUE(writes(by_another_name, WriterKind::sieve));
  EXPECT_TRUE(writes(in_a_container, WriterKind::sieve));
  EXPECT_FALSE(writes_pieces(one));
}

TEST_F(Gaps, NothingChangesWhileAThreadWrites) {
  GapLock one(file()), other(file());
  EXPECT_TRUE(writes_pieces(one));
  ASSERT_TRUE(one.begin(WriterKind::pieces));
  EXPECT_FALSE(one.begin(WriterKind::sieve));
  one.leave();
  EXPECT_FALSE(other.begin(WriterKind::sieve));
  one.end();
  one.leave();
  EXPECT_TRUE(writes(other, WriterKind::sieve));
}

TEST_F(Gaps, WithoutAFolderNobodyMayDoEither) {
  GapLock one([] { return GapLock::GapPlace{}; });
  EXPECT_FALSE(writes_pieces(one));
  EXPECT_FALSE(writes(one, WriterKind::sieve));
}

TEST_F(Gaps, ADeadProcessWritesNothing) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    GapLock lock(file());
    const char may = writes_pieces(lock) ? 'y' : 'n';
    (void)!::write(ready[1], &may, 1);
    for (;;) ::pause();
  }
  char may = 0;
  ASSERT_EQ(::read(ready[0], &may, 1), 1);
  EXPECT_EQ(may, 'y');
  GapLock one(file());
  EXPECT_FALSE(writes(one, WriterKind::sieve));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(writes(one, WriterKind::sieve));
  ::close(ready[0]);
  ::close(ready[1]);
}

// Threads of several handles change kinds; at no time are there writers of both.
TEST_F(Gaps, NeverBothKinds) {
  constexpr int handles = 3, rounds = 4000;
  std::vector<std::unique_ptr<GapLock>> locks;
  for (int i = 0; i < handles; ++i) locks.push_back(std::make_unique<GapLock>(file()));
  std::atomic<int> pieces{0}, sieves{0}, both{0}, times[2] = {};
  const auto work = [&](unsigned seed) {
    for (int round = 0; round < rounds; ++round) {
      seed = seed * 1664525 + 1013904223;
      GapLock& lock = *locks[seed / 65536 % handles];
      const bool sieve = (seed >> 20) % 2 != 0;
      if ((seed >> 24) % 4 == 0) lock.leave();
      if (!lock.begin(sieve ? WriterKind::sieve : WriterKind::pieces)) continue;
      (sieve ? sieves : pieces).fetch_add(1);
      ++times[sieve ? 1 : 0];
      if (sieves.load() != 0 && pieces.load() != 0) both.store(1);
      (sieve ? sieves : pieces).fetch_sub(1);
      lock.end();
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i) threads.emplace_back(work, i + 1);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(both.load(), 0);
  EXPECT_GT(times[0].load(), 0);
  EXPECT_GT(times[1].load(), 0);
}

}  // namespace
}  // namespace millrace::io
