// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/links/strangers.hpp"

#include <gtest/gtest.h>

#include "agent/links/doorkeeper.hpp"

namespace millrace::agent {
namespace {

io::NetAddress host(std::uint8_t number, std::uint16_t port = 0) {
  io::NetAddress address;
  address.ip[15] = number;
  address.port = port;
  return address;
}

using Room = Strangers::Room;
constexpr std::uint64_t later_ns = Strangers::least_ns;

TEST(Strangers, AHostMayHaveSoManyAndItsOldestMakesWay) {
  Strangers strangers;
  std::uint64_t oldest = 0;
  strangers.add(1, host(1), 0);
  for (std::uint64_t tag = 2; tag <= 1 + Strangers::most_of_host; ++tag) {
    EXPECT_EQ(strangers.room(later_ns, oldest), Room::free);
    strangers.add(tag, host(2, static_cast<std::uint16_t>(tag)),
                  0);  // strangers are counted by host, not by port
  }
  ASSERT_EQ(strangers.room(later_ns, oldest), Room::to_be_made);
  EXPECT_EQ(oldest, 2U);
  strangers.remove(oldest);
  EXPECT_EQ(strangers.room(later_ns, oldest), Room::free);
  EXPECT_EQ(strangers.size(), Strangers::most_of_host);
}

TEST(Strangers, InAllTheOldestOfTheBusiestHostMakesWay) {
  Strangers strangers;
  std::uint64_t tag = 0, oldest = 0;
  strangers.add(tag++, host(9), 0);
  for (std::uint8_t number = 0; strangers.size() < Strangers::most; ++number)
    strangers.add(tag++, host(static_cast<std::uint8_t>(number % 5)), 0);
  ASSERT_EQ(strangers.room(later_ns, oldest), Room::to_be_made);
  EXPECT_NE(oldest, 0U) << "who has one connection keeps it";
}

TEST(Strangers, EverybodyHasTimeToSayWhoTheyAre) {
  Strangers strangers;
  std::uint64_t oldest = 0;
  for (std::uint64_t i = 0; i < Strangers::most_of_host; ++i) strangers.add(i, host(1), 7 + i);
  EXPECT_EQ(strangers.room(7 + later_ns - 1, oldest), Room::none_yet);
  EXPECT_EQ(strangers.room(7 + later_ns, oldest), Room::to_be_made);
  EXPECT_EQ(oldest, 0U);
  strangers.remove(oldest);
  strangers.add(99, host(1), 7 + later_ns);
  EXPECT_EQ(strangers.room(7 + later_ns, oldest), Room::none_yet) << "the next one came a moment later";
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
