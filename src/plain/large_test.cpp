// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "plain/large.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace millrace::plain {
namespace {

constexpr std::size_t MiB = 1 << 20;

// A file in memory that is full at `room`; writes there fail with `error`.
struct File {
  std::vector<char> bytes = std::vector<char>(64 * MiB);
  std::size_t room = 64 * MiB;
  int error = ENOSPC;
  off_t offset = 0;
  int flags = O_RDWR;
  bool regular = true;
  bool limited = false;
  bool seekable = true;
} file;

ssize_t put(int, const void* data, std::size_t size, off_t at) {
  const auto place = static_cast<std::size_t>(at);
  if (place >= file.room) {
    errno = file.error;
    return -1;
  }
  const std::size_t fits = std::min(size, file.room - place);
  std::memcpy(file.bytes.data() + place, data, fits);
  return static_cast<ssize_t>(fits);
}

off_t seek(int, off_t by, int) {
  if (!file.seekable) {
    errno = ESPIPE;
    return -1;
  }
  return file.offset += by;
}

constexpr Calls calls{.pwrite = put,
                      .lseek = seek,
                      .start_writeback = [](int, off_t, off_t) { return 0; },
                      .regular = [](int) { return file.regular; },
                      .status_flags = [](int) { return file.flags; },
                      .size_limited = [] { return file.limited; }};

class LargeTest : public testing::Test {
 protected:
  void SetUp() override {
    file = File();
    for (std::size_t i = 0; i < data_.size(); ++i) data_[i] = static_cast<char>(i * 7 + i / 4099);
    early_.wrote(calls, 7, -1, 100 * MiB);  // a program that syncs its files
    early_.synced(7);
    errno = EDOM;
  }
  bool holds(std::size_t at, std::size_t size) const {
    return std::memcmp(file.bytes.data() + at, data_.data(), size) == 0;
  }

  EarlyWriteback early_;
  std::vector<char> data_ = std::vector<char>(9 * MiB + 13);
};

TEST_F(LargeTest, AllIsWrittenAndTheOffsetMoves) {
  file.offset = 5;
  EXPECT_EQ(write_large(calls, early_, 3, data_.data(), data_.size()), static_cast<ssize_t>(data_.size()));
  EXPECT_TRUE(holds(5, data_.size()));
  EXPECT_EQ(file.offset, static_cast<off_t>(5 + data_.size()));
  EXPECT_EQ(errno, EDOM);
}

TEST_F(LargeTest, AtAPositionTheOffsetStays) {
  EXPECT_EQ(write_large_at(calls, early_, 3, data_.data(), data_.size(), 77),
            static_cast<ssize_t>(data_.size()));
  EXPECT_TRUE(holds(77, data_.size()));
  EXPECT_EQ(file.offset, 0);
}

TEST_F(LargeTest, AFullDiskGivesAShortCountThenTheError) {
  file.room = 5 * MiB + 1;
  EXPECT_EQ(write_large(calls, early_, 3, data_.data(), data_.size()), static_cast<ssize_t>(file.room));
  EXPECT_EQ(file.offset, static_cast<off_t>(file.room));
  EXPECT_EQ(errno, EDOM);
  EXPECT_EQ(write_large(calls, early_, 3, data_.data(), data_.size()), -1);
  EXPECT_EQ(file.offset, static_cast<off_t>(file.room));
  EXPECT_EQ(errno, ENOSPC);
}

TEST_F(LargeTest, AnErrorAfterWholePiecesIsAShortCountToo) {
  file.room = 5 * MiB;
  file.error = EIO;
  EXPECT_EQ(write_large_at(calls, early_, 3, data_.data(), data_.size(), 0), static_cast<ssize_t>(file.room));
  EXPECT_EQ(write_large_at(calls, early_, 3, data_.data(), data_.size(), 5 * MiB), -1);
  EXPECT_EQ(errno, EIO);
}

TEST_F(LargeTest, WherePiecesAreNotTheSameNothingIsDone) {
  const auto refused = [&] {
    const bool both = !write_large(calls, early_, 3, data_.data(), data_.size()) &&
                      !write_large_at(calls, early_, 3, data_.data(), data_.size(), 0);
    EXPECT_EQ(file.offset, 0);
    EXPECT_EQ(errno, EDOM);
    file = File();
    return both;
  };
  for (const int flag : {O_APPEND, O_DIRECT, O_SYNC, O_DSYNC}) {
    file.flags = O_RDWR | flag;
    EXPECT_TRUE(refused()) << flag;
  }
  file.flags = O_RDONLY;
  EXPECT_TRUE(refused());
  file.regular = false;
  EXPECT_TRUE(refused());
  file.limited = true;
  EXPECT_TRUE(refused());
  EXPECT_FALSE(write_large_at(calls, early_, 3, data_.data(), data_.size(), -1));
}

TEST_F(LargeTest, WithoutAnOffsetNothingIsDone) {
  file.seekable = false;
  EXPECT_FALSE(write_large(calls, early_, 3, data_.data(), data_.size()));
  EXPECT_EQ(errno, EDOM);
}

}  // namespace
}  // namespace millrace::plain
