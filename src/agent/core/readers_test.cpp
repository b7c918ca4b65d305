// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// The life of a file that the ranks of a group only read: it begins and ends with its members.
#include <gtest/gtest.h>

#include "agent/core/files.hpp"
#include "agent/core/testing/ring_rig.hpp"
#include "agent/core/testing/told.hpp"
#include "transport/want_list.hpp"

namespace millrace::agent {
namespace {

// Takes the bytes of wants, and has no use for them.
class Nobody final : public ReadTaker {
 public:
  bool has_room(SenderId) const override { return true; }
  void wanted(SenderId, std::uint32_t, std::uint32_t, std::span<const std::byte>) override {}
};

class Readers : public testing::Test {
 protected:
  // `next`: the next agent; nullptr: this agent is the file server. `upstreams`: that may come.
  FileSlot open(SenderId rank, std::shared_ptr<Wire> next, std::uint32_t upstreams = 0,
                std::uint64_t group = 1) {
    transport::Register registration{};
    registration.group = group;
    registration.members = 2;
    registration.reads_only = 1;
    registration.settings = roomy(Strategy::automatic);
    Route route;
    route.lanes.push_back({next ? std::make_unique<MemoryCarrier>(next) : nullptr, upstreams});
    const auto slot = rig.core.open(rank, Fd(::dup(file.get())), registration, std::move(route));
    return slot ? *slot : UINT32_MAX;
  }
  void want(SenderId rank, FileSlot slot, std::uint32_t request) {
    rig.core.want(rank, slot, request, std::vector<Extent>{{0, 1}});
  }
  void rounds(int count = 10) {
    Nobody nobody;
    for (int i = 0; i < count; ++i) {
      rig.step();
      (void)rig.core.pass_read(nobody);
    }
  }

  Rig rig;
  Fd file = rig.storage.create();
  std::shared_ptr<Wire> wire = std::make_shared<Wire>();
};

TEST_F(Readers, AFileServerWaitsForNoAgentThatMayStillCome) {
  const FileSlot slot = open(0, nullptr, 3);
  rig.core.close(0, slot, 1, {});
  rounds();
  EXPECT_TRUE(rig.reply(0, 1).ok());
  EXPECT_TRUE(rig.core.idle());
}

TEST_F(Readers, AFileServerKeepsTheFileForItsAgentsUpstream) {
  const FileSlot slot = open(0, nullptr, 3);
  ASSERT_TRUE(rig.core.join(100, slot, 0, 1).ok());
  rig.core.close(0, slot, 1, {});
  rounds();
  want(100, slot, 2);
  rounds();
  EXPECT_TRUE(rig.answered(100, 2));
  EXPECT_FALSE(rig.core.idle());
  rig.core.abandon(100);
  rounds();
  EXPECT_TRUE(rig.core.idle());
}

TEST_F(Readers, AnAgentWhoseRanksReadNothingAsksNobody) {
  rig.core.close(0, open(0, wire), 1, {});
  rounds();
  EXPECT_TRUE(wire->frames.empty());
  EXPECT_TRUE(rig.core.idle());
}

// They are on their way to a next agent that never answers.
TEST_F(Readers, GuessesEndWithTheLastClose) {
  const FileSlot slot = open(0, wire);
  for (std::uint32_t request = 1; request <= 5; ++request) want(0, slot, request);
  rounds();
  ASSERT_FALSE(wire->frames.empty());
  EXPECT_FALSE(rig.answered(0, 1));
  rig.core.close(0, slot, 6, {});
  rounds();
  for (std::uint32_t request = 1; request <= 5; ++request)
    EXPECT_FALSE(rig.reply(0, request).ok()) << request;
  EXPECT_TRUE(rig.core.idle());
}

// Its front lets no rank come so late. If one does, it does not join what has ended.
TEST_F(Readers, ARankThatRegistersBehindTheCloseOfOthersBeginsAnew) {
  const auto second = std::make_shared<Wire>();
  const FileSlot first = open(0, wire);
  want(0, first, 1);
  rounds();
  rig.core.close(0, first, 2, {});
  const FileSlot slot = open(1, second);
  want(1, slot, 3);
  rounds();
  EXPECT_EQ(wire->frames.size(), 1u);
  ASSERT_EQ(second->frames.size(), 1u);
  EXPECT_EQ(second->frames.front().kind, transport::Kind::want);
  rig.core.close(1, slot, 4, {});
  rounds();
  EXPECT_TRUE(rig.core.idle());
}

// Otherwise agents would disagree when the life of a group ends.
TEST_F(Readers, GroupsDoNotShareAFile) {
  const FileSlot one = open(0, wire), other = open(0, std::make_shared<Wire>(), 0, 2);
  EXPECT_NE(one, other);
  EXPECT_EQ(open(1, std::make_shared<Wire>()), one);
  EXPECT_EQ(open(1, std::make_shared<Wire>(), 0, 2), other);
}

TEST_F(Readers, ALostAgentIsNoErrorOfTheFile) {
  const FileSlot slot = open(0, wire);
  want(0, slot, 1);
  rounds();
  wire->status = Code::lost_peer;
  rounds();
  EXPECT_EQ(rig.reply(0, 1).code(), Code::lost_peer);
  EXPECT_TRUE(rig.core.error(slot).ok());
  rig.core.close(0, slot, 2, {});
  rounds();
  EXPECT_TRUE(rig.core.idle());
  ASSERT_EQ(rig.reports.size(), 1u);
  EXPECT_EQ(word_at(rig.reports[0], "/error"), "");
}

// A rank of this node that dies costs ranks of other nodes nothing.
TEST_F(Readers, ASenderThatGoesIsNoErrorOfOthers) {
  const FileSlot slot = open(0, nullptr, 1);
  ASSERT_TRUE(rig.core.join(100, slot, 0, 1).ok());
  rig.core.abandon(0);
  want(100, slot, 1);
  rig.core.ask(transport::Kind::flush, 100, slot, 2);
  rounds();
  EXPECT_TRUE(rig.reply(100, 2).ok());
}

// A file server's agent alone keeps the file, and so its number.
TEST(FilesOfReaders, ANumberThatCameBackIsAnotherFile) {
  Files files;
  transport::Register registration{};
  registration.reads_only = 1;
  auto file = std::make_unique<OpenFile>();
  file->identity = {.device = 1, .inode = 5, .birth_ns = 100};
  file->reads_only = true;
  const FileSlot slot = files.add(std::move(file));
  EXPECT_EQ(files.find({.device = 1, .inode = 5, .birth_ns = 100}, registration), slot);
  EXPECT_EQ(files.find({.device = 1, .inode = 5, .birth_ns = 200}, registration), files.end());
}

}  // namespace
}  // namespace millrace::agent
