// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/strangers.hpp"

#include <gtest/gtest.h>

#include "agent/doorkeeper.hpp"

namespace millrace::agent {
namespace {

io::Address host(std::uint8_t number, std::uint16_t port = 0) {
  io::Address address;
  address.ip[15] = number;
  address.port = port;
  return address;
}

TEST(Strangers, AHostMayHaveSoManyAndItsOldestMakesWay) {
  Strangers strangers;
  EXPECT_FALSE(strangers.add(1, host(1)));
  for (std::uint64_t tag = 2; tag <= 1 + Strangers::most_of_host; ++tag)
    EXPECT_FALSE(strangers.add(tag, host(2)));
  EXPECT_EQ(strangers.add(1000, host(2, 99)), 2U) << "the host counts, not the port";
  EXPECT_EQ(strangers.add(1001, host(2)), 3U);
  EXPECT_EQ(strangers.size(), Strangers::most_of_host + 1);
  strangers.remove(1000);
  EXPECT_FALSE(strangers.add(1002, host(2)));
}

TEST(Strangers, InAllTheOldestOfTheBusiestHostMakesWay) {
  Strangers strangers;
  std::uint64_t tag = 0;
  EXPECT_FALSE(strangers.add(tag++, host(9)));
  for (std::uint8_t number = 0; number < 5; ++number) {
    for (int i = 0; i < 51; ++i) EXPECT_FALSE(strangers.add(tag++, host(number)));
  }
  ASSERT_EQ(strangers.size(), Strangers::most);
  EXPECT_FALSE(strangers.add(tag, host(3)) == 0U) << "who has one connection keeps it";
  EXPECT_EQ(strangers.size(), Strangers::most);
}

TEST(Doorkeeper, LetsSoManyInUntilTheWindowEnds) {
  Doorkeeper door;
  std::uint32_t in = 0;
  for (; in < 1000 && door.open(5); ++in) door.let_in();
  EXPECT_EQ(in, Doorkeeper::most);
  const std::uint64_t opens_ns = door.opens_ns();
  EXPECT_EQ(opens_ns, 5 + Doorkeeper::window_ns);
  EXPECT_FALSE(door.open(opens_ns - 1));
  door.knows_one();
  EXPECT_TRUE(door.open(opens_ns - 1)) << "agents of the job do not count";
  door.shut(opens_ns - 1);
  EXPECT_FALSE(door.open(opens_ns));
  EXPECT_TRUE(door.open(opens_ns + Doorkeeper::window_ns));
  EXPECT_EQ(door.opens_ns(), UINT64_MAX);
}

}  // namespace
}  // namespace millrace::agent
