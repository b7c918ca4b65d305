// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/server/rounds.hpp"

#include <gtest/gtest.h>

#include "agent/core/testing/core_rig.hpp"
#include "io/posix/descriptor.hpp"
#include "io/virtual/virtual_net.hpp"

namespace millrace::agent {
namespace {

constexpr std::uint64_t ring_bytes = 64 * KiB;

// An agent with two ranks that have one file open. The test tells the time.
class RoundsTest : public testing::Test {
 protected:
  struct Rank {
    transport::Producer producer;
    SenderId id;
    FileSlot file;
  };

  Rank join() {
    Rank rank{*transport::Producer::create(ring_bytes), 0, 0};
    Connection& connection = rounds_.join(Fd());
    transport::Hello hello{};
    hello.ring_bytes = ring_bytes;
    connection.greet(*transport::Consumer::attach(Fd(::dup(rank.producer.memory())), ring_bytes), hello);
    transport::Register registration{};
    registration.group = 1;
    registration.settings = roomy(Strategy::automatic);
    rank.id = connection.id();
    const transport::Registered answer = rounds_.enroll(connection, registration, *io::duplicate(file_));
    EXPECT_TRUE(answer.status.ok());
    rank.file = answer.file;
    return rank;
  }
  static void write(Rank& rank, std::uint64_t stamp, std::uint64_t offset, int value) {
    const std::vector<std::byte> data(100, static_cast<std::byte>(value));
    transport::FrameHeader frame{};
    frame.kind = transport::Kind::write;
    frame.file = rank.file;
    frame.length = 100;
    frame.offset = offset;
    frame.span = stamp;
    ASSERT_TRUE(rank.producer.append(frame, data.data()));
    rank.producer.publish();
  }
  static void ask(Rank& rank, transport::Kind kind, std::uint32_t request) {
    transport::FrameHeader frame{};
    frame.kind = kind;
    frame.file = rank.file;
    frame.request = request;
    frame.span = UINT64_MAX;
    const transport::ClientCounters counters{};
    if (kind == transport::Kind::close) frame.length = sizeof counters;
    ASSERT_TRUE(rank.producer.append(frame, &counters));
    rank.producer.header().requests.fetch_add(1);
    rank.producer.publish();
  }
  bool answered(Rank& rank, std::uint32_t request) {
    return rank.producer.header().replies[request % transport::reply_slots].done.load() == request;
  }
  // Rounds until nothing is left to do. False: they do not end. A request of the storage takes a few rounds.
  bool work() {
    for (int rounds = 0, idle = 0; rounds < 200; ++rounds) {
      const bool rests = rounds_.go() == Rounds::Round::idle && rounds_.deadline_ns() > timeline_.now_ns();
      idle = rests ? idle + 1 : 0;
      if (idle == 10) return true;
    }
    return false;
  }

  io::Timeline timeline_{1};
  io::Trace trace_;
  io::VirtualNet net_{timeline_, trace_, 1, {}};
  io::MemoryStorage storage_;
  Fd file_ = storage_.create();
  std::uint64_t stamp_ = 1000;
  std::vector<std::string> said_;
  Links links_{net_.of(0), timeline_, [](int, std::uint32_t, std::uint64_t) {}, [](const std::string&) {},
               1u << 20,   {}};
  std::unique_ptr<transport::AgentPage> page_ = std::make_unique<transport::AgentPage>();
  Core core_{storage_, "/tmp"};
  Rounds rounds_{core_,
                 links_,
                 *page_,
                 timeline_,
                 {[this] { return stamp_; }, [this](const std::string& line) { said_.push_back(line); },
                  [](const std::string&) {}, [] { return std::uint64_t{7000}; }},
                 250'000'000};
};

// The clocks of two processors, or of a machine before and after it was moved, may differ.
TEST_F(RoundsTest, ARankWhoseClockIsAheadIsServedAtOnce) {
  for (const std::uint64_t ahead : {std::uint64_t{1} << 20, std::uint64_t{1} << 36, std::uint64_t{1} << 60}) {
    Rank rank = join();
    write(rank, stamp_ + ahead, 0, 1);
    write(rank, stamp_ + ahead + 1000, 100, 2);
    ask(rank, transport::Kind::flush, 17);
    EXPECT_TRUE(work()) << "the agent does not come to rest";
    EXPECT_TRUE(answered(rank, 17)) << ahead;
    EXPECT_EQ(storage_.contents(0)[0], std::byte{1});
    EXPECT_EQ(storage_.contents(0)[199], std::byte{2});
    EXPECT_EQ(said_, std::vector<std::string>{});
  }
}

TEST_F(RoundsTest, TheAnswerToACloseShowsHowMuchTheAgentHasDone) {
  Rank rank = join();
  write(rank, 500, 0, 1);
  ask(rank, transport::Kind::close, 17);
  EXPECT_TRUE(work());
  EXPECT_TRUE(answered(rank, 17));
  EXPECT_EQ(page_->taken_bytes.load(), 100U);
  EXPECT_EQ(page_->worked_ns.load(), 7000U);
}

// They overlap. The one that was written later is published first.
TEST_F(RoundsTest, RecordsOfTwoRanksKeepTheOrderOfTheirStamps) {
  Rank one = join(), other = join();
  write(one, 900, 0, 1);
  write(other, 500, 0, 2);
  ask(one, transport::Kind::flush, 17);
  EXPECT_TRUE(work());
  EXPECT_EQ(storage_.contents(0)[0], std::byte{1});
}

// A record that is a little younger than the pass waits for the next pass, and so for its place in the order.
TEST_F(RoundsTest, ARecordThatIsYoungerThanThePassKeepsItsPlace) {
  Rank one = join(), other = join();
  write(one, stamp_ + 500, 0, 1);
  (void)rounds_.go();
  write(other, stamp_ + 200, 0, 2);
  stamp_ += 1000;
  ask(one, transport::Kind::flush, 17);
  EXPECT_TRUE(work());
  EXPECT_EQ(storage_.contents(0)[0], std::byte{1});
}

TEST_F(RoundsTest, RanksGetTheLowestFreeNumbers) {
  std::vector<SenderId> ids;
  for (int i = 0; i < 4; ++i) ids.push_back(rounds_.join(Fd()).id());
  EXPECT_EQ(ids, (std::vector<SenderId>{0, 1, 2, 3}));
  rounds_.drop(1, "");
  rounds_.drop(2, "");
  EXPECT_EQ(rounds_.join(Fd()).id(), 1u);
  EXPECT_EQ(rounds_.join(Fd()).id(), 2u);
  EXPECT_EQ(rounds_.join(Fd()).id(), 4u);
}

}  // namespace
}  // namespace millrace::agent
