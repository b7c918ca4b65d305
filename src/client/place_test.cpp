// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/place.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

namespace millrace::client {
namespace {

namespace fs = std::filesystem;

class PlaceTest : public ::testing::Test {
 protected:
  PlaceTest()
      : root_(::testing::TempDir() + "millrace-place-" + std::to_string(::getpid()) + "-" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name()),
        path_(root_ + "/data") {
    fs::create_directory(root_);
    std::ofstream(path_) << "old";
  }
  ~PlaceTest() override { fs::remove_all(root_); }

  static ino_t number_of(const std::string& path) {
    struct stat about {};
    return ::stat(path.c_str(), &about) == 0 ? about.st_ino : 0;
  }

  std::string root_, path_;
};

TEST_F(PlaceTest, TheSameFileIsOpenedAgain) {
  Place place;
  ASSERT_TRUE(place.remember(path_));
  std::ofstream(path_, std::ios::app) << "and more";
  EXPECT_TRUE(place.open_again(O_RDWR).valid());
}

TEST_F(PlaceTest, ANewFileWithTheOldNumberIsNot) {
  constexpr int tries = 1000;
  Place place;
  ASSERT_TRUE(place.remember(path_));
  const ino_t number = number_of(path_);
  fs::remove(path_);
  int made = 0;
  for (; made < tries; ++made) {
    std::ofstream(path_) << "new";
    if (number_of(path_) == number) break;
    fs::rename(path_, root_ + "/" + std::to_string(made));
  }
  if (made == tries) GTEST_SKIP() << "this file system does not use inode numbers again";
  const Fd file = place.open_again(O_RDWR);
  const int error = errno;
  EXPECT_FALSE(file.valid());
  EXPECT_EQ(error, ENOENT);
}

}  // namespace
}  // namespace millrace::client
