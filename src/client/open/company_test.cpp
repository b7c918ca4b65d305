// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/open/company.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include "client/open/testing/thread_team.hpp"

namespace millrace::client {
namespace {

using testing::Room;
using testing::ThreadTeam;

Peer peer(std::uint64_t node) {
  return {
      .node = node, .inode = 7, .own_system = 3, .probed = 5, .alone = 0, .host = node + 100, .agent = {}};
}

Company company_of(const std::vector<Peer>& peers) {
  Counted counted;
  for (const Peer& one : peers) counted.add(one);
  return counted.take();
}

TEST(Company, KnowsTheNodesInTheOrderOfTheirFirstRanks) {
  std::vector<Peer> peers{peer(9), peer(4), peer(9), peer(4), peer(4)};
  peers[2].agent.port = 77;
  const Company company = company_of(peers);
  ASSERT_EQ(company.nodes.size(), 2U);
  EXPECT_FALSE(company.on_one_node());
  EXPECT_EQ(company.index_of(4), 1U);
  EXPECT_EQ(company.nodes[0].ranks, 2U);
  EXPECT_EQ(company.nodes[1].first, 1U);
  EXPECT_EQ(company.nodes[1].ranks, 3U);
  EXPECT_EQ(company.nodes[0].agent.port, 77) << "any rank of a node may know its agent";
  EXPECT_EQ(company.nodes[1].host, 104U);
  EXPECT_EQ(company.heard.one_file, 1U);
  EXPECT_EQ(company.heard.probed, 5U);
}

TEST(Company, EachNodeHasReadWhatItsRanksHaveReadTogether) {
  std::vector<Peer> peers{peer(9), peer(4), peer(9)};
  peers[0].share = peers[2].share = 400;
  peers[1].share = 900;
  EXPECT_EQ(company_of(peers).heard.share, 800U);
}

TEST(Company, OneRankThatDiffersCounts) {
  const std::vector<Peer> alike(5, peer(1));
  const auto heard_with = [&](auto change) {
    std::vector<Peer> peers = alike;
    change(peers[3]);
    return company_of(peers).heard;
  };
  EXPECT_EQ(heard_with([](Peer& one) { one.inode = 8; }).one_file, 0U);
  EXPECT_EQ(heard_with([](Peer& one) { one.inode = 0; }).one_file, 0U);
  EXPECT_EQ(heard_with([](Peer& one) { one.own_system = 0; }).one_file, 0U);
  EXPECT_EQ(heard_with([](Peer& one) { one.alone = 1; }).alone, 1U);
  EXPECT_EQ(heard_with([](Peer& one) { one.probed = 6; }).probed, 0U);
}

// One gather and a few words to all: all ranks end with the same.
TEST(Company, AnIntroductionTellsAllRanksTheSame) {
  constexpr int ranks = 6;
  Room room(ranks);
  struct Words {
    std::uint64_t most, some;
  };
  using Heard = Introductions<Words, std::uint64_t>;
  std::vector<Heard> heard(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadTeam team(room, rank);
      const auto number = static_cast<std::uint64_t>(rank);
      Heard& mine = heard[number];
      mine.word = rank == 0 ? 42 : 0;
      const Introduction<Words> message{{number, rank == 3 ? 1u : 0u}, peer(number / 2)};
      EXPECT_TRUE(introduce(team, message, mine));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Heard& one : heard) {
    EXPECT_EQ(one.words.most, 5U);
    EXPECT_EQ(one.words.some, 1U);
    EXPECT_EQ(one.word, 42U);
    ASSERT_EQ(one.company.nodes.size(), 3U);
    EXPECT_EQ(one.company.nodes[2].first, 4U);
  }
}

// Ranks that follow each other are on one node.
std::vector<Answer> answers_of(std::uint64_t nodes, std::uint64_t ranks_of_node) {
  std::vector<Answer> answers;
  for (std::uint64_t rank = 0; rank < nodes * ranks_of_node; ++rank)
    answers.push_back({1, 2, rank / ranks_of_node, 500 + rank / ranks_of_node});
  return answers;
}

TEST(RollCall, NamesTheRanksWithAnotherBuild) {
  std::vector<Answer> answers = answers_of(2, 3);
  answers[2].build = 9;
  answers[4].magic = 9;
  EXPECT_EQ(differing(answers).build, (std::vector<int>{2, 4}));
  EXPECT_TRUE(differing(answers).agent.empty());
}

TEST(RollCall, NamesTheRanksWithAnotherAgentThanTheFirstOfTheirNode) {
  std::vector<Answer> answers = answers_of(2, 3);
  answers[3].agent = 9;
  EXPECT_EQ(differing(answers).agent, (std::vector<int>{4, 5}));
  EXPECT_TRUE(differing(answers).build.empty());
  EXPECT_TRUE(differing(answers_of(2, 3)).agent.empty());
}

// 1,024 nodes with 128 ranks each. A search among all answers for each answer takes minutes.
TEST(RollCall, TakesATimeThatGrowsWithTheRanks) {
  std::vector<Answer> answers = answers_of(1024, 128);
  answers.back().agent = 9;
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(differing(answers).agent, (std::vector<int>{131'071}));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

// 1,024 nodes with 128 ranks each.
TEST(Company, ItsListGrowsWithTheNodes) {
  constexpr std::uint64_t nodes = 1024, ranks_of_node = 128;
  std::vector<Peer> peers;
  for (std::uint64_t rank = 0; rank < nodes * ranks_of_node; ++rank)
    peers.push_back(peer(rank / ranks_of_node));
  const Company company = company_of(peers);
  EXPECT_EQ(company.nodes.size(), nodes);
  EXPECT_EQ(company.nodes[1023].ranks, ranks_of_node);
  EXPECT_LE(company.nodes.size() * sizeof(Node), 64U * 1024);
}

}  // namespace
}  // namespace millrace::client
