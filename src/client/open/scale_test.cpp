// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
//
// The memory that an open takes on one of 131,072 ranks.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "client/open/company.hpp"
#include "client/open/plan.hpp"
#include "client/open/testing/test_place.hpp"

namespace {

std::atomic<std::size_t> held{0}, peak{0};

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  held += ::malloc_usable_size(memory);
  peak = std::max(peak.load(), held.load());
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  held -= ::malloc_usable_size(memory);
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

namespace millrace::client {
namespace {

constexpr int nodes = 1024, ranks_of_node = 128, ranks = nodes * ranks_of_node;

// How a launcher deals the ranks to the nodes.
enum class Deal { block, cyclic };

std::uint16_t node_of(int rank, Deal deal) {
  return static_cast<std::uint16_t>(1 + (deal == Deal::block ? rank / ranks_of_node : rank % nodes));
}
int first_of(std::uint16_t node, Deal deal) { return (node - 1) * (deal == Deal::block ? ranks_of_node : 1); }

// The result of an exchange, in memory that does not count.
struct Told {
  Told() {
    for (std::vector<std::byte>& one : lists) one.reserve(128 * 1024);
  }
  std::array<std::vector<std::byte>, 4> lists;
};

// One rank of all. The other ranks answer as this rank does itself, for their nodes.
class OneOfAll final : public Team {
 public:
  OneOfAll(int rank, Deal deal, Told& told) : rank_(rank), deal_(deal), told_(told) {}
  int rank() const override { return rank_; }
  int size() const override { return ranks; }

  bool most(std::span<std::uint64_t>) override { return true; }
  bool send(int to, std::span<const std::byte> message) override {
    if (rank_ == 0 && to == 1) told_.lists.at(folds_).assign(message.begin(), message.end());
    if (to == rank_ + 1) ++folds_;
    return true;
  }
  bool receive(int from, const Room& room) override {
    if (from < rank_) {
      const std::vector<std::byte>& list = told_.lists.at(folds_);
      std::ranges::copy(list, room(list.size()).begin());
      folds_ += rank_ % 4 != 0 ? 1 : 0;  // such a rank sends nothing on
    } else if (folds_ == 0) {
      list_nodes(from, room);
    } else {
      list_agents(from, room);
    }
    return true;
  }

 private:
  // The first rank beyond those below `rank` in the tree.
  static int end_of(int rank) {
    int step = 1;
    while (rank % (4 * step) == 0) step *= 4;
    return std::min(rank + step, ranks);
  }

  void list_nodes(int from, const Room& room) const {
    const auto count = [&](std::uint16_t node) {
      std::uint32_t found = 0;
      for (int rank = first_of(node, deal_); rank < end_of(from); rank += deal_ == Deal::block ? 1 : nodes)
        found += rank >= from && node_of(rank, deal_) == node ? 1 : 0;
      return found;
    };
    std::size_t distinct = 0;
    for (std::uint16_t node = 1; node <= nodes; ++node) distinct += count(node) > 0 ? 1 : 0;
    constexpr std::size_t words = sizeof(PeerWords) + sizeof(Words) + sizeof(Decision);  // zeros here
    const std::span<std::byte> place = room(words + distinct * sizeof(Node));
    std::size_t at = words;
    for (std::uint16_t node = 1; node <= nodes; ++node) {
      if (count(node) == 0) continue;
      const auto first = static_cast<std::uint32_t>(std::max(from, first_of(node, deal_)));
      const Node one{.number = node, .host = node, .first = first, .ranks = count(node)};
      std::memcpy(&place[at], &one, sizeof one);
      at += sizeof one;
    }
  }

  void list_agents(int from, const Room& room) const {
    std::size_t firsts = 0;
    const auto each = [&](auto act) {
      for (std::uint16_t node = 1; node <= nodes; ++node) {
        if (first_of(node, deal_) >= from && first_of(node, deal_) < end_of(from)) act(node);
      }
    };
    each([&](std::uint16_t) { ++firsts; });
    const std::span<std::byte> place = room(firsts * sizeof(AgentAddress));
    std::size_t at = 0;
    each([&](std::uint16_t node) {
      AgentAddress one;
      one.port = node;
      std::memcpy(&place[at], &one, sizeof one);
      at += sizeof one;
    });
  }

  const int rank_;
  const Deal deal_;
  Told& told_;
  std::size_t folds_ = 0;
};

struct Taken {
  std::size_t kept, most;
};

// Carries out the open on this rank.
Taken open_on(int rank, Deal deal, Told& told, bool writes) {
  OneOfAll team(rank, deal, told);
  testing::TestPlace place(node_of(rank, deal));
  place.file_bytes = worth_carrying_bytes;
  Wishes wishes;
  wishes.path = "/proc/self/exe";  // a file that all ranks see
  (void)wishes.found.remember(wishes.path);
  wishes.settings.stage = Stage::pieces;
  wishes.reads = true;
  wishes.world = ranks;
  const std::size_t before = held;
  peak = before;
  const Plan plan =
      writes ? plan_write(team, place, std::move(wishes)) : plan_read(team, place, std::move(wishes));
  EXPECT_TRUE(plan.ours && !plan.one_node);
  EXPECT_EQ(plan.apart, Apart::no);
  EXPECT_EQ(plan.through, Through::all);
  EXPECT_EQ(plan.first_of_node, writes && rank == first_of(node_of(rank, deal), deal));
  return {held - before, peak - before};
}

TEST(Scale, AnOpenOfManyNodesTakesLittleMemoryOnEachRank) {
  for (const Deal deal : {Deal::block, Deal::cyclic}) {
    for (const bool writes : {true, false}) {
      Told told;
      for (const int rank : {0, 1, 4, 77 * ranks_of_node, ranks / 2, ranks - 1}) {
        const Taken taken = open_on(rank, deal, told, writes);
        EXPECT_LE(taken.kept, 64U * 1024) << "rank " << rank;
        EXPECT_LE(taken.most, 160U * 1024) << "rank " << rank << ", during the open";
      }
    }
  }
}

}  // namespace
}  // namespace millrace::client
