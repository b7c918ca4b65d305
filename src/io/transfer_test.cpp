// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/posix/transfer.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

namespace millrace::io {
namespace {

Request request_of(Op op, std::vector<std::string>& parts) {
  Request request;
  request.op = op;
  request.offset = 100;
  for (std::string& part : parts) request.data.push_back({part.data(), part.size()});
  return request;
}

TEST(VectoredTransfer, ContinuesAShortWriteWhereItStopped) {
  std::vector<std::string> parts = {"abc", "", "defg", "h"};
  Request request = request_of(Op::write, parts);
  VectoredTransfer transfer(request, Cache::used);
  ASSERT_TRUE(transfer.advance(5));
  EXPECT_EQ(transfer.offset(), 105U);
  EXPECT_EQ(transfer.next().size(), 2U);
  EXPECT_EQ(*static_cast<char*>(transfer.next()[0].iov_base), 'f');
  EXPECT_FALSE(transfer.advance(3));
  EXPECT_TRUE(transfer.over());
  EXPECT_TRUE(transfer.status().ok());
  EXPECT_EQ(transfer.moved(), 8U);
}

TEST(VectoredTransfer, GapsAreSteppedOver) {
  std::vector<std::string> parts = {"abc", "de", "fgh"};
  Request request = request_of(Op::write, parts);
  request.data.insert(request.data.begin() + 2, {nullptr, 40});
  VectoredTransfer transfer(request, Cache::used);
  EXPECT_EQ(transfer.next().size(), 2U);
  EXPECT_EQ(transfer.offset(), 100U);
  ASSERT_TRUE(transfer.advance(4));
  EXPECT_EQ(transfer.next().size(), 1U) << "what a short write left";
  ASSERT_TRUE(transfer.advance(1));
  ASSERT_EQ(transfer.next().size(), 1U);
  EXPECT_EQ(*static_cast<char*>(transfer.next()[0].iov_base), 'f');
  EXPECT_EQ(transfer.offset(), 145U);
  EXPECT_FALSE(transfer.advance(3));
  EXPECT_TRUE(transfer.over());
  EXPECT_EQ(transfer.moved(), 8U);
}

TEST(VectoredTransfer, CallsAreCutAtMultiplesOfTheirBound) {
  std::vector<std::string> parts = {"abc", "defghijklmnopqrs", "tu", "v"};
  Request request = request_of(Op::write, parts);
  request.data.insert(request.data.begin() + 3, {nullptr, 2});
  VectoredTransfer transfer(request, Cache::used, 8);
  std::string told;
  do {
    const auto some = transfer.next();
    std::size_t bytes = 0;
    told += std::to_string(transfer.offset()) + ":";
    for (const iovec& part : some) {
      told.append(static_cast<const char*>(part.iov_base), part.iov_len);
      bytes += part.iov_len;
    }
    told += " ";
    if (!transfer.advance(static_cast<ssize_t>(bytes))) break;
  } while (told.size() < 200);
  EXPECT_EQ(told, "100:abcd 104:efghijkl 112:mnopqrst 120:u 123:v ") << "100 is not a multiple of 8, 104 is";
  EXPECT_TRUE(transfer.over());
  EXPECT_EQ(transfer.moved(), 22U);
}

TEST(VectoredTransfer, ErrorOfOnePieceLeavesTheOthers) {
  std::vector<std::string> parts = {"abc", "de", "fgh"};
  Request request = request_of(Op::write, parts);
  request.data.insert(request.data.begin() + 2, {nullptr, 40});
  VectoredTransfer transfer(request, Cache::used);
  transfer.next();
  ASSERT_TRUE(transfer.advance(-EIO));
  ASSERT_EQ(transfer.next().size(), 1U);
  EXPECT_EQ(transfer.offset(), 145U);
  EXPECT_FALSE(transfer.advance(3));
  EXPECT_EQ(transfer.status().error(), EIO);
  EXPECT_EQ(transfer.moved(), 3U);
}

TEST(VectoredTransfer, InterruptedCallIsMadeAgain) {
  std::vector<std::string> parts = {"abc"};
  Request request = request_of(Op::write, parts);
  VectoredTransfer transfer(request, Cache::used);
  EXPECT_TRUE(transfer.advance(-EINTR));
  EXPECT_TRUE(transfer.advance(-EAGAIN));
  EXPECT_EQ(transfer.moved(), 0U);
}

TEST(VectoredTransfer, ErrorKeepsWhatWasMovedBefore) {
  std::vector<std::string> parts = {"abcdef"};
  Request request = request_of(Op::write, parts);
  VectoredTransfer transfer(request, Cache::used);
  EXPECT_TRUE(transfer.advance(4));
  EXPECT_FALSE(transfer.advance(-ENOSPC));
  EXPECT_EQ(transfer.status().code(), Code::no_space);
  EXPECT_EQ(transfer.moved(), 4U);
}

TEST(VectoredTransfer, WriteWithoutProgressIsAnErrorAndReadAtEndIsNot) {
  std::vector<std::string> parts = {"abcdef"};
  Request write = request_of(Op::write, parts);
  VectoredTransfer stuck(write, Cache::used);
  EXPECT_FALSE(stuck.advance(0));
  EXPECT_EQ(stuck.status().code(), Code::io);
  Request read = request_of(Op::read, parts);
  VectoredTransfer end(read, Cache::used);
  EXPECT_FALSE(end.advance(0));
  EXPECT_TRUE(end.status().ok());
}

TEST(VectoredTransfer, DirectWriteGoesOnFromABlock) {
  std::vector<std::string> parts = {std::string(16384, 'x')};
  Request request = request_of(Op::write, parts);
  VectoredTransfer transfer(request, Cache::passed_in_blocks);
  EXPECT_TRUE(transfer.advance(5000));
  EXPECT_EQ(transfer.moved(), 4096U);
  EXPECT_FALSE(transfer.advance(100)) << "less than a block is no progress";
  EXPECT_EQ(transfer.status().code(), Code::io);
}

}  // namespace
}  // namespace millrace::io
