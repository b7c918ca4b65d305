// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/open/company.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <thread>
#include <vector>

#include "client/open/testing/thread_team.hpp"

namespace millrace::client {
namespace {

using testing::Room;
using testing::ThreadTeam;

constexpr std::uint64_t refused = 2;

Peer peer(std::uint64_t node) { return {{.number = node, .host = node + 100}, 7, 3, 5, 0}; }

// Carries out a step on each rank.
template <class Step>
void on_ranks(std::size_t ranks, Step step, bool connected = true) {
  Room room(static_cast<int>(ranks));
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      ThreadTeam team(room, static_cast<int>(rank), connected);
      step(team, rank);
    });
  for (std::thread& thread : threads) thread.join();
}

// The knowledge of each rank of the company of these peers.
std::vector<Company> companies_of(const std::vector<Peer>& peers, bool connected = true) {
  std::vector<Company> companies(peers.size());
  const auto step = [&](Team& team, std::size_t rank) {
    std::uint64_t word = rank == 1 ? refused : 0;
    EXPECT_TRUE(introduce(team, peers[rank], word, companies[rank]));
    EXPECT_EQ(word, refused) << "the maximum of all words";
  };
  on_ranks(peers.size(), step, connected);
  return companies;
}

TEST(Fold, EveryRankGetsAllElementsInTheOrderOfTheRanks) {
  for (std::size_t ranks = 1; ranks <= 22; ++ranks) {
    on_ranks(ranks, [ranks](Team& team, std::size_t rank) {
      std::vector<std::uint64_t> list(rank % 3, rank);  // of several lengths
      EXPECT_TRUE(fold(team, list));
      std::vector<std::uint64_t> right;
      for (std::uint64_t one = 0; one < ranks; ++one) right.insert(right.end(), one % 3, one);
      EXPECT_EQ(list, right);
    });
  }
}

TEST(Fold, TheLeastAndTheMostAreOfAllRanks) {
  on_ranks(6, [](Team& team, std::size_t rank) {
    EXPECT_EQ(team.least(static_cast<int>(7 - rank)), 2);
    Same same(rank / 3), alike(9);
    std::array<Same, 2> both{same, alike};
    EXPECT_TRUE(most(team, both));
    EXPECT_EQ(both[0].most, 1U);
    EXPECT_FALSE(both[0].everywhere());
    EXPECT_TRUE(both[1].everywhere());
  });
}

TEST(Company, KnowsTheNodesInTheOrderOfTheirFirstRanks) {
  std::vector<Peer> peers{peer(9), peer(4), peer(9), peer(4), peer(4)};
  peers[2].node.agent.port = 77;
  std::vector<Company> all = companies_of(peers);
  std::ranges::copy(companies_of(peers, false), std::back_inserter(all));
  for (const Company& company : all) {
    ASSERT_EQ(company.nodes.size(), 2U);
    EXPECT_FALSE(company.on_one_node());
    EXPECT_EQ(company.index_of(4), 1U);
    EXPECT_EQ(company.nodes[0].ranks, 2U);
    EXPECT_EQ(company.nodes[1].first, 1U);
    EXPECT_EQ(company.nodes[1].ranks, 3U);
    EXPECT_EQ(company.nodes[0].agent.port, 77) << "any rank of a node may know its agent";
    EXPECT_EQ(company.nodes[1].host, 104U);
    EXPECT_TRUE(company.one_file);
    EXPECT_EQ(company.probed, 5U);
  }
}

TEST(Company, RanksOfOneNodeNeedNoListOfNodes) {
  for (const bool connected : {true, false}) {
    for (const Company& company : companies_of(std::vector(3, peer(4)), connected)) {
      ASSERT_TRUE(company.on_one_node());
      EXPECT_EQ(company.nodes[0].ranks, 3U);
      EXPECT_EQ(company.nodes[0].first, 0U);
    }
  }
}

TEST(Company, EachNodeHasReadWhatItsRanksHaveReadTogether) {
  std::vector<Peer> peers{peer(9), peer(4), peer(9)};
  peers[0].node.share = peers[2].node.share = 400;
  peers[1].node.share = 900;
  EXPECT_EQ(companies_of(peers)[1].share, 800U);
}

TEST(Company, OneRankThatDiffersCounts) {
  const std::vector<Peer> alike(5, peer(1));
  const auto heard_with = [&](auto change) {
    std::vector<Peer> peers = alike;
    change(peers[3]);
    return companies_of(peers)[0];
  };
  EXPECT_FALSE(heard_with([](Peer& one) { one.inode = 8; }).one_file);
  EXPECT_FALSE(heard_with([](Peer& one) { one.inode = 0; }).one_file);
  EXPECT_FALSE(heard_with([](Peer& one) { one.own_system = 0; }).one_file);
  EXPECT_TRUE(heard_with([](Peer& one) { one.alone = 1; }).alone);
  EXPECT_EQ(heard_with([](Peer& one) { one.probed = 6; }).probed, 0U);
}

// Ranks that follow each other are on one node.
std::vector<Answer> answers_of(std::uint32_t nodes, std::uint32_t ranks_of_node) {
  std::vector<Answer> answers;
  for (std::uint32_t rank = 0; rank < nodes * ranks_of_node; ++rank)
    answers.push_back({1, 2, 80 - rank / ranks_of_node, 500 + rank / ranks_of_node, rank, 0});
  return answers;
}

// The ranks that differ, as every rank hears.
std::vector<int> differing_of(const std::vector<Answer>& answers) {
  std::vector<std::vector<int>> found(answers.size());
  on_ranks(answers.size(),
           [&](Team& team, std::size_t rank) { EXPECT_TRUE(differing(team, answers[rank], found[rank])); });
  for (const std::vector<int>& one : found) EXPECT_EQ(one, found[0]);
  return found[0];
}

TEST(RollCall, NamesARankWithAnotherBuildOnEachNode) {
  std::vector<Answer> answers = answers_of(3, 3);
  EXPECT_EQ(differing_of(answers), std::vector<int>{});
  answers[1].build = answers[2].build = 9;
  answers[5].magic = 9;
  for (std::size_t rank : {6, 7, 8}) answers[rank].build = 9;
  EXPECT_EQ(differing_of(answers), (std::vector<int>{1, 5, 6}));
}

TEST(RollCall, NamesTheRanksWithAnotherAgentThanTheFirstOfTheirNode) {
  std::vector<Answer> answers = answers_of(2, 3);
  answers[3].agent = 9;
  EXPECT_EQ(differing_of(answers), std::vector<int>{4});
}

}  // namespace
}  // namespace millrace::client
