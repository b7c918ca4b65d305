// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
//
// The memory that an open takes on one of 131,072 ranks.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
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

std::atomic<std::size_t> held{0}, most{0};

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  held += ::malloc_usable_size(memory);
  most = std::max(most.load(), held.load());
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  held -= ::malloc_usable_size(memory);
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

namespace millrace::client {
namespace {

constexpr int nodes = 1024, ranks_of_node = 128;

std::uint16_t node_of(int rank) { return static_cast<std::uint16_t>(1 + rank / ranks_of_node); }

// The bytes that rank 0 told, one message after the other.
using Told = std::vector<std::vector<std::byte>>;

// One rank of all. The other ranks answer rank 0 as it does itself, for their nodes.
class OneOfAll final : public Team {
 public:
  OneOfAll(int rank, Told& told) : rank_(rank), told_(told) {}
  int rank() const override { return rank_; }
  int size() const override { return nodes * ranks_of_node; }

  bool gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    if (rank_ != 0) return true;
    for (int rank = 0; rank < size(); ++rank) {
      std::byte* const block = all.data() + static_cast<std::size_t>(rank) * mine.size();
      std::memcpy(block, mine.data(), mine.size());
      if (mine.size() == sizeof(Message)) {
        Message message{};
        std::memcpy(&message, block, sizeof message);
        message.self.node = message.self.host = node_of(rank);
        std::memcpy(block, &message, sizeof message);
      } else if (mine.size() == sizeof(AgentAddress)) {
        AgentAddress address{};
        address.port = node_of(rank);
        std::memcpy(block, &address, sizeof address);
      }
    }
    return true;
  }

  bool tell(std::span<std::byte> bytes) override {
    if (rank_ == 0) {
      told_.emplace_back(bytes.begin(), bytes.end());
      return true;
    }
    const std::vector<std::byte>& next = told_.at(heard_++);
    if (next.size() != bytes.size()) return false;
    std::ranges::copy(next, bytes.begin());
    return true;
  }

 private:
  using Message = Introduction<Words>;
  const int rank_;
  Told& told_;
  std::size_t heard_ = 0;
};

struct Taken {
  std::size_t kept, most;
};

// Carries out the open on this rank.
Taken open_on(int rank, Told& told, bool writes) {
  OneOfAll team(rank, told);
  testing::TestPlace place(node_of(rank));
  place.file_bytes = worth_carrying_bytes;
  Wishes wishes;
  wishes.path = "/proc/self/exe";  // a file that all ranks see
  (void)wishes.found.remember(wishes.path);
  wishes.settings.stage = Stage::pieces;
  wishes.reads = true;
  wishes.world = nodes * ranks_of_node;
  const std::size_t before = held;
  most = before;
  const Plan plan =
      writes ? plan_write(team, place, std::move(wishes)) : plan_read(team, place, std::move(wishes));
  EXPECT_TRUE(plan.ours && !plan.one_node);
  EXPECT_EQ(plan.apart, Apart::no);
  EXPECT_EQ(plan.through, Through::all);
  EXPECT_EQ(plan.first_of_node, writes && rank % ranks_of_node == 0);
  return {held - before, most - before};
}

TEST(Scale, AnOpenOfManyNodesTakesLittleMemoryOnEachRank) {
  for (const bool writes : {true, false}) {
    Told told;
    (void)open_on(0, told, writes);
    for (const int rank : {1, 77 * ranks_of_node, nodes * ranks_of_node - 1}) {
      const Taken taken = open_on(rank, told, writes);
      EXPECT_LE(taken.kept, 64U * 1024) << "rank " << rank;
      EXPECT_LE(taken.most, 160U * 1024) << "rank " << rank << ", during the open";
    }
  }
}

// The messages of all ranks, once. They are gone when the open is over.
TEST(Scale, RankZeroHasTheMessagesOfAllRanksOnlyDuringTheOpen) {
  Told told;
  told.reserve(64);
  const Taken taken = open_on(0, told, true);
  std::size_t recorded = 0;
  for (const std::vector<std::byte>& one : told) recorded += one.capacity() + sizeof(std::size_t);
  constexpr std::size_t message = sizeof(Introduction<Words>);
  EXPECT_LE(taken.kept, 64U * 1024 + recorded);
  EXPECT_LE(taken.most, nodes * ranks_of_node * message + 1024 * 1024);
}

}  // namespace
}  // namespace millrace::client
