// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/open/reach.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <vector>

#include "transport/memory.hpp"

namespace millrace::client {
namespace {

using transport::TcpAddress;

struct Listener {
  Fd socket;
  TcpAddress address;
};

Listener listener() {
  Result<Fd> socket = transport::tcp_listen(*transport::parse_address("127.0.0.1"));
  const TcpAddress address = *transport::local_address(socket->get());
  return {*std::move(socket), address};
}

TEST(Reach, WhoListensIsReached) {
  const Listener a = listener(), b = listener();
  EXPECT_TRUE(can_reach(std::vector{a.address, b.address}, 2000));
  EXPECT_TRUE(can_reach({}, 0));
}

TEST(Reach, OneThatDoesNotListenIsEnough) {
  const Listener a = listener();
  TcpAddress gone = listener().address;
  EXPECT_FALSE(can_reach(std::vector{a.address, gone}, 2000));
}

TEST(Reach, OneThatDoesNotAnswerCostsTheBoundAndNoMore) {
  const Listener full = listener();
  ASSERT_EQ(::listen(full.socket.get(), 0), 0);
  std::vector<Fd> waiting;  // they fill the listener's queue; further ones get no answer
  for (int i = 0; i < 4; ++i) waiting.push_back(*transport::tcp_connect(full.address));
  const std::uint64_t begin_ns = transport::now_ns();
  EXPECT_FALSE(can_reach(std::vector{full.address}, 100));
  EXPECT_LT(transport::now_ns() - begin_ns, 5'000'000'000u);
}

}  // namespace
}  // namespace millrace::client
