// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/posix/extent_lock.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <thread>

#include "base/fd.hpp"
#include "base/library_call.hpp"
#include "io/factory.hpp"

namespace millrace::io {
namespace {

// ROMIO's locks belong to a process, so the tests need another process that locks.
class Locks : public testing::Test {
 protected:
  void SetUp() override {
    path = testing::TempDir() + "millrace-lock-XXXXXX";
    file.reset(::mkostemp(path.data(), O_CLOEXEC));
    ASSERT_TRUE(file.valid());
  }
  void TearDown() override { ::unlink(path.c_str()); }

  static int set(int fd, int command, short type, off_t begin, off_t length) {
    struct flock lock {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = begin;
    lock.l_len = length;
    return ::fcntl(fd, command, &lock);
  }

  // True if another process could lock this part now.
  bool is_free(off_t begin, off_t length) const {
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_start = begin;
    lock.l_len = length;
    const Fd other(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    return ::fcntl(other.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
  }

  // Another process locks a part, writes back its contents from before `change`, and ends.
  template <class Change>
  void rewrite_meanwhile(off_t begin, off_t length, Change change) const {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const int fd = ::open(path.c_str(), O_RDWR);
      char seen[64] = {};
      bool good = set(fd, F_SETLK, F_WRLCK, begin, length) == 0;
      good = good && ::pread(fd, seen, sizeof seen, 0) >= 0 && ::write(ready[1], "x", 1) == 1;
      ::usleep(20'000);  // without the lock, `change` would write in this time
      good = good && ::pwrite(fd, seen, sizeof seen, 0) == sizeof seen;
      ::_exit(good ? 0 : 1);
    }
    char said = 0;
    EXPECT_EQ(::read(ready[0], &said, 1), 1);
    change();
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    ::close(ready[0]);
    ::close(ready[1]);
  }

  std::string path;
  Fd file;
};

TEST_F(Locks, ThePartIsLockedAndNoMore) {
  {
    const ExtentLock lock(file.get(), 100, 50);
    EXPECT_FALSE(is_free(149, 1));
    EXPECT_TRUE(is_free(0, 100));
    EXPECT_TRUE(is_free(150, off_t{1} << 60));
  }
  EXPECT_TRUE(is_free(0, 0));
}

TEST_F(Locks, NothingIsNotTheRestOfTheFile) {
  const ExtentLock lock(file.get(), 100, 0);
  EXPECT_TRUE(is_free(0, 0));
}

TEST_F(Locks, ALockWithoutEndIsNotWaitedFor) {
  const Fd other(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(set(other.get(), F_OFD_SETLK, F_WRLCK, 0, 0), 0);
  const ExtentLock lock(file.get(), 100, 50);
}

TEST_F(Locks, ALockOfThisProcessIsNotWaitedFor) {
  const Fd other(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(set(other.get(), F_SETLK, F_WRLCK, 0, 1000), 0);
  const ExtentLock lock(file.get(), 100, 50);
}

// The library sieves in another thread.
TEST_F(Locks, ALockOfTheLibraryInThisProcessIsWaitedFor) {
  const Fd other(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(set(other.get(), F_SETLK, F_WRLCK, 0, 1000), 0);
  EXPECT_FALSE(ExtentLock(file.get(), 100, 50).complete()) << "the program's own";
  std::atomic<bool> given_back = false;
  const LibraryCall under_way;
  std::thread library([&] {
    ::usleep(20'000);
    given_back = true;
    EXPECT_EQ(set(other.get(), F_SETLK, F_UNLCK, 0, 1000), 0);
  });
  EXPECT_TRUE(ExtentLock(file.get(), 100, 50).complete());
  EXPECT_TRUE(given_back);
  library.join();
}

// A program may lock a part, write to it through MPI, and unlock it only when the bytes are in the file.
TEST_F(Locks, ALockThatAProgramKeepsIsNotWaitedForEver) {
  int done[2], ready[2];
  ASSERT_EQ(::pipe(done), 0);
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    char said = 0;
    const int fd = ::open(path.c_str(), O_RDWR);
    const bool good = set(fd, F_SETLK, F_WRLCK, 0, 1000) == 0 && ::write(ready[1], "x", 1) == 1;
    ::_exit(good && ::read(done[0], &said, 1) == 1 ? 0 : 1);
  }
  char said = 0;
  EXPECT_EQ(::read(ready[0], &said, 1), 1);
  { const ExtentLock lock(file.get(), 100, 50); }
  const std::time_t begin = ::time(nullptr);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(ExtentLock(file.get(), 100, 50).complete());
  EXPECT_LT(::time(nullptr) - begin, 60) << "each of them would wait for seconds";
  EXPECT_EQ(::write(done[1], "x", 1), 1);
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  for (const int fd : {done[0], done[1], ready[0], ready[1]}) ::close(fd);
}

// A program may guard a part against other jobs by a lock of its open file description, and write to it
// through MPI meanwhile.
TEST_F(Locks, ALockOfTheProgramsDescriptorIsNotWaitedFor) {
  const Fd other(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(set(other.get(), F_OFD_SETLK, F_WRLCK, 100, 50), 0);
  for (const ExtentLock::Hold hold : {ExtentLock::Hold::brief, ExtentLock::Hold::lasting}) {
    const ExtentLock lock(file.get(), 50, 200, hold);
    EXPECT_FALSE(lock.complete());
    EXPECT_FALSE(is_free(50, 50)) << "the bytes before the program's are locked";
    EXPECT_FALSE(is_free(150, 100)) << "the bytes behind them too";
    const ExtentLock apart(file.get(), 1000, 10, hold);
    EXPECT_TRUE(apart.complete());
  }
  EXPECT_TRUE(is_free(50, 50));
  EXPECT_TRUE(is_free(150, 0));
}

TEST_F(Locks, OneExtentLockWaitsForAnother) {
  const Fd other(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  for (const ExtentLock::Hold hold : {ExtentLock::Hold::brief, ExtentLock::Hold::lasting}) {
    auto held = std::make_unique<ExtentLock>(other.get(), 0, 100);
    std::atomic<bool> gone = false;
    std::thread waits([&] {
      const ExtentLock lock(file.get(), 50, 100, hold);
      EXPECT_TRUE(gone);
      EXPECT_TRUE(lock.complete());
    });
    ::usleep(20'000);  // without the other lock, the thread would be done in this time
    gone = true;
    held.reset();
    waits.join();
  }
}

TEST_F(Locks, AFileThatIsOnlyReadHasNone) {
  const Fd reader(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const ExtentLock lock(reader.get(), 100, 50);
  EXPECT_TRUE(is_free(0, 0));
}

TEST_F(Locks, StorageWritesWaitForWhoRewritesThatPart) {
  ASSERT_EQ(::ftruncate(file.get(), 64), 0);
  Result<Chosen> chosen = make_storage(SinkMode::buffered);
  ASSERT_TRUE(chosen.ok());
  const Handle handle = *chosen->storage->adopt(Fd(::dup(file.get())), false);
  char text[] = "bytes";
  // The write has a gap.
  rewrite_meanwhile(0, 64, [&] {
    chosen->storage->submit({Op::write, handle, 10, 0, {{text, 2}, {nullptr, 3}, {text, 5}}, 1});
    chosen->storage->kick();
    std::vector<Completion> done;
    while (done.empty()) chosen->storage->poll(done);
    EXPECT_TRUE(done.front().status.ok());
  });
  char seen[10] = {};
  EXPECT_EQ(::pread(file.get(), seen, sizeof seen, 10), 10);
  EXPECT_EQ(std::memcmp(seen, "by\0\0\0bytes", 10), 0) << "undone by the process that rewrote its holes";
}

}  // namespace
}  // namespace millrace::io
