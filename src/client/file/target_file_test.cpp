// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/file/target_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

namespace millrace::client {
namespace {

namespace fs = std::filesystem;

class TargetFileTest : public ::testing::Test {
 protected:
  TargetFileTest()
      : root_(::testing::TempDir() + "millrace-target-" + std::to_string(::getpid()) + "-" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name()),
        path_(root_ + "/data") {
    fs::create_directory(root_);
    std::ofstream(path_) << "old";
  }
  ~TargetFileTest() override { fs::remove_all(root_); }

  static ino_t number_of(const std::string& path) {
    struct stat about {};
    return ::stat(path.c_str(), &about) == 0 ? about.st_ino : 0;
  }

  // The next descriptor is in the half that is left to the program.
  bool remember_without_descriptor(TargetFile& target) const {
    const int next = Fd(::open(path_.c_str(), O_PATH | O_CLOEXEC)).get();
    rlimit old{};
    if (::getrlimit(RLIMIT_NOFILE, &old) != 0) return false;
    const rlimit tight{static_cast<rlim_t>(next) + 2, old.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &tight) != 0) return false;
    const bool known = target.remember(path_);
    return ::setrlimit(RLIMIT_NOFILE, &old) == 0 && known && !target.held().valid();
  }

  std::string root_, path_;
};

TEST_F(TargetFileTest, TheSameFileIsOpenedAgain) {
  TargetFile target;
  ASSERT_TRUE(target.remember(path_));
  std::ofstream(path_, std::ios::app) << "and more";
  EXPECT_TRUE(target.open_again(O_RDWR).valid());
}

TEST_F(TargetFileTest, ANewFileWithTheOldNumberIsNot) {
  constexpr int tries = 1000;
  TargetFile target;
  ASSERT_TRUE(remember_without_descriptor(target));
  const ino_t number = number_of(path_);
  fs::remove(path_);
  int made = 0;
  for (; made < tries; ++made) {
    std::ofstream(path_) << "new";
    if (number_of(path_) == number) break;
    fs::rename(path_, root_ + "/" + std::to_string(made));
  }
  if (made == tries) GTEST_SKIP() << "this file system does not use inode numbers again";
  const Fd file = target.open_again(O_RDWR);
  const int error = errno;
  EXPECT_FALSE(file.valid());
  EXPECT_EQ(error, ENOENT);
}

TEST_F(TargetFileTest, AnotherFileOfTheNameIsNot) {
  TargetFile target;
  ASSERT_TRUE(target.remember(path_));
  fs::rename(path_, root_ + "/elsewhere");
  std::ofstream(path_) << "new";
  ASSERT_TRUE(target.hold_open(O_RDWR));
  struct stat held {};
  ASSERT_EQ(::fstat(target.held().get(), &held), 0);
  EXPECT_EQ(held.st_ino, number_of(root_ + "/elsewhere"));
  fs::remove(root_ + "/elsewhere");
  const Fd file = target.open_again(O_RDWR);
  const int error = errno;
  EXPECT_FALSE(file.valid());
  EXPECT_EQ(error, ENOENT);
}

// The close of a descriptor drops all of a process's fcntl locks on the file.
TEST_F(TargetFileTest, WithoutRoomALockOfTheProgramStays) {
  TargetFile target;
  ASSERT_TRUE(target.remember(path_));
  const Fd own(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_len = 10;
  ASSERT_EQ(::fcntl(own.get(), F_SETLK, &lock), 0);
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &old), 0);
  const rlimit tight{static_cast<rlim_t>(own.get()) + 3, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
  const bool opened = target.open_to_hold(O_RDWR).valid(), holds = target.hold_open(O_RDWR);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &old), 0);
  EXPECT_FALSE(opened);
  EXPECT_FALSE(holds);
  const pid_t other = ::fork();
  if (other == 0) ::_exit(::fcntl(own.get(), F_GETLK, &lock) == 0 && lock.l_type == F_WRLCK ? 0 : 1);
  int status = -1;
  ASSERT_EQ(::waitpid(other, &status, 0), other);
  EXPECT_EQ(status, 0);
}

TEST_F(TargetFileTest, HalfOfTheDescriptorsAreLeftToTheProgram) {
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &old), 0);
  const rlimit tight{64, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
  TargetFile places[64];
  int held = 0;
  for (TargetFile& target : places) {
    EXPECT_TRUE(target.remember(path_));
    held += target.held().valid() ? 1 : 0;
  }
  EXPECT_GT(held, 0);
  EXPECT_LE(held, 32);
  EXPECT_FALSE(places[63].hold_open(O_RDWR));
  EXPECT_EQ(errno, EMFILE);
  EXPECT_TRUE(places[63].open_again(O_RDWR).valid());
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &old), 0);
}

}  // namespace
}  // namespace millrace::client
