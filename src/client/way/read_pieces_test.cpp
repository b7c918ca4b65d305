// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/way/read_pieces.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <random>
#include <string>

#include "base/fd.hpp"
#include "base/settings.hpp"

namespace millrace::client {
namespace {

class ReadPiecesTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t file_bytes = 6 * MiB;

  ReadPiecesTest() : contents_(file_bytes, '\0') {
    std::mt19937_64 random(1);
    for (char& one : contents_) one = static_cast<char>(random());
    std::string path = ::testing::TempDir() + "millrace-read-XXXXXX";
    file_.reset(::mkostemp(path.data(), O_CLOEXEC));
    ::unlink(path.c_str());
    EXPECT_EQ(::pwrite(file_.get(), contents_.data(), contents_.size(), 0),
              static_cast<ssize_t>(contents_.size()));
  }

  // `count` pieces of `length` bytes, `stride` apart, from `begin` on, read into memory with holes of `hole`.
  Status read(std::string& memory, std::uint64_t begin, std::uint64_t length, std::uint64_t stride,
              std::uint64_t count, std::uint64_t hole) {
    const auto pieces = std::make_shared<const TypeMap>(
        resized(contiguous_type(length), 0, static_cast<std::int64_t>(stride)));
    const FileView view(begin, 1, pieces);
    const TypeMap spread = resized(contiguous_type(3), 0, static_cast<std::int64_t>(3 + hole));
    const std::uint64_t elements = length * count / 3;
    memory.assign(elements * (3 + hole), '?');
    PieceSource source(view, 0, spread, memory.data(), elements);
    return read_pieces(file_.get(), source);
  }

  std::string contents_;
  Fd file_;
};

TEST_F(ReadPiecesTest, PiecesOfAllSizesAndGapsBecomeWhatTheFileHolds) {
  std::mt19937_64 random(7);
  const std::uint64_t lengths[] = {3, 255, 4095, 70'002},
                      gaps[] = {0, 1, 700, 4095, 4096, 4097, 60'000, 80'000};
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t length = lengths[random() % 4], stride = length + gaps[random() % 8];
    const std::uint64_t begin = random() % 5000, hole = random() % 3;
    const std::uint64_t count = 1 + random() % std::min<std::uint64_t>((file_bytes - begin) / stride, 900);
    std::string memory;
    ASSERT_TRUE(read(memory, begin, length, stride, count, hole).ok());
    std::string want(memory.size(), '?');
    for (std::uint64_t i = 0; i < length * count; ++i)
      want[i / 3 * (3 + hole) + i % 3] = contents_[begin + i / length * stride + i % length];
    ASSERT_EQ(memory, want) << "length " << length << " stride " << stride << " hole " << hole;
  }
}

TEST_F(ReadPiecesTest, AReadBehindTheEndOfTheFileIsNotOurs) {
  std::string memory;
  EXPECT_TRUE(read(memory, file_bytes - 600, 300, 300, 2, 0).ok());
  EXPECT_EQ(read(memory, file_bytes - 599, 300, 300, 2, 0).code(), Code::io);
  EXPECT_EQ(read(memory, file_bytes - 700, 300, 700, 2, 0).code(), Code::io);
  EXPECT_EQ(read(memory, file_bytes + 10, 300, 300, 2, 0).code(), Code::io);
}

TEST_F(ReadPiecesTest, AFileThatCannotBeReadIsAnError) {
  file_.reset(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  std::string memory;
  EXPECT_EQ(read(memory, 0, 300, 700, 2, 0).code(), Code::io);
}

}  // namespace
}  // namespace millrace::client
