// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/way/sieve.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <string>

#include "base/fd.hpp"

namespace millrace::client {
namespace {

class SieveTest : public ::testing::Test {
 protected:
  SieveTest() {
    path_ = ::testing::TempDir() + "millrace-sieve-XXXXXX";
    file_.reset(::mkostemp(path_.data(), O_CLOEXEC));
  }
  ~SieveTest() override { ::unlink(path_.c_str()); }

  std::string contents() const {
    std::string all(static_cast<std::size_t>(::lseek(file_.get(), 0, SEEK_END)), '?');
    EXPECT_EQ(::pread(file_.get(), all.data(), all.size(), 0), static_cast<ssize_t>(all.size()));
    return all;
  }
  // Writes `text` by a view whose pieces have `length` bytes, `stride` apart.
  static Status write(int file, const std::string& text, std::uint64_t begin, std::uint64_t length,
                      std::uint64_t stride, const SieveBounds& sweep) {
    const auto pieces = std::make_shared<const TypeMap>(
        resized(contiguous_type(length), 0, static_cast<std::int64_t>(stride)));
    const FileView view(begin, 1, pieces);
    const TypeMap byte = contiguous_type(1);
    PieceSource source(view, 0, byte, text.data(), text.size());
    Sieve sieve;
    return sieve.write(file, source, sweep);
  }

  std::string path_;
  Fd file_;
};

TEST_F(SieveTest, HolesKeepWhatTheyHoldAndAreZeroBehindTheEnd) {
  ASSERT_EQ(::pwrite(file_.get(), "------", 6, 0), 6);
  ASSERT_TRUE(write(file_.get(), "abcdef", 1, 2, 4, {.window = 100, .gap = 50}).ok());
  EXPECT_EQ(contents(), std::string("-ab--cd\0\0ef", 11));
}

// With parts of any size, the file is the same as after a write of piece after piece.
TEST_F(SieveTest, PartsOfAllSizesWriteTheSameBytes) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    const std::uint64_t length = 1 + random() % 40, stride = length + random() % 40, begin = random() % 50;
    std::string text(1 + random() % 2000, ' ');
    for (char& one : text) one = static_cast<char>('a' + random() % 26);
    std::string expected = contents();
    for (std::uint64_t i = 0; i < text.size(); ++i) {
      const std::uint64_t at = begin + i / length * stride + i % length;
      if (expected.size() <= at) expected.resize(at + 1, '\0');
      expected[at] = text[i];
    }
    const SieveBounds sweep{.window = 1 + random() % 500, .gap = random() % 50};
    ASSERT_TRUE(write(file_.get(), text, begin, length, stride, sweep).ok());
    ASSERT_EQ(contents(), expected) << "round " << round;
  }
}

// The program excludes others by a lock of its own descriptor, and changes the bytes in the holes meanwhile.
TEST_F(SieveTest, BytesThatTheProgramHasLockedAreNotRewritten) {
  class Changed final : public SievedFile {
   public:
    explicit Changed(int file) : file_(file) {}
    bool lock(Extent, bool) override { return false; }
    void unlock() override {}
    Status read(std::uint64_t, std::span<std::byte>) override { return Code::io; }
    Status write(std::uint64_t offset, std::span<const std::byte> from) override {
      const ssize_t put = ::pwrite(file_, from.data(), from.size(), static_cast<off_t>(offset));
      return put == static_cast<ssize_t>(from.size()) ? Status() : Status(Code::io);
    }

   private:
    const int file_;
  };
  ASSERT_EQ(::pwrite(file_.get(), "----------", 10, 0), 10);
  Changed changed(file_.get());
  const std::vector<Piece> pieces = {{1, "ab", 2}, {5, "cd", 2}};
  Sieve sieve;
  ASSERT_TRUE(sieve.write(changed, pieces, {.window = 100, .gap = 50}).ok());
  EXPECT_EQ(contents(), "-ab--cd---");
}

// Two processes write alternate pieces of the same part, many times. No process undoes the other's writes.
TEST_F(SieveTest, WhatAnotherProcessPutsIntoTheHolesStays) {
  constexpr std::uint64_t length = 64, bytes = length * 512;
  const auto fill = [&](std::uint64_t begin, char first) {
    const Fd own(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
    bool good = own.valid();
    for (int turn = 0; turn < 3000; ++turn)
      good = good && write(own.get(), std::string(bytes, static_cast<char>(first + turn % 20)), begin, length,
                           2 * length, {.window = 4096, .gap = length})
                         .ok();
    return good;
  };
  const pid_t child = ::fork();
  if (child == 0) ::_exit(fill(length, 'a') ? 0 : 1);
  EXPECT_TRUE(fill(0, 'A'));
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  std::string expected;
  for (int i = 0; i < 512; ++i) expected += std::string(length, 'A' + 19) + std::string(length, 'a' + 19);
  EXPECT_EQ(contents(), expected);
}

TEST_F(SieveTest, AnErrorEndsIt) {
  const Fd reader(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(write(reader.get(), "abcdef", 1, 2, 4, {.window = 100, .gap = 50}).ok());
  const Fd full(::open("/dev/full", O_RDWR | O_CLOEXEC));
  const Status status = write(full.get(), "abcdef", 1, 2, 4, {.window = 1, .gap = 0});
  EXPECT_EQ(status.code(), Code::no_space);
}

}  // namespace
}  // namespace millrace::client
