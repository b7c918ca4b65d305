// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Tries every order of events in small clusters. Agents never wait for each other in a circle.
#include "agent/pipeline/budget.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

namespace millrace::agent {
namespace {

// One lane at one agent. A record is one block and one chunk.
struct Part {
  std::uint8_t to_write;   // records that ranks of this node have not written yet
  std::uint8_t held;       // in the sort buffer
  std::uint8_t leaving;    // on their way out of the sort buffer
  std::uint8_t stored;     // in the journal
  std::uint8_t returning;  // 1: a chunk comes back from the journal
  std::uint8_t link;       // records between this agent and the next one
  std::uint8_t asked;      // 1: a request makes all records depart
};

// A test switches the rule off to see that the explorer finds the circle.
struct Rules {
  bool share = true;  // fed lanes have a share of their own
};

struct Cluster {
  const char* name;
  std::uint32_t agents;
  std::uint32_t lanes;
  bool ring;  // false: records go directly to the file server
  bool journal;
  std::uint32_t blocks;  // of each agent
  std::uint32_t slots;
  std::uint8_t records;  // of each agent for each lane
};

constexpr std::size_t parts_max = 9;
using State = std::array<Part, parts_max>;
static_assert(sizeof(State) == parts_max * 7);

class Explorer {
 public:
  Explorer(const Cluster& cluster, const Rules& rules) : c_(cluster), rules_(rules) {}

  // The first state found in which no event is possible although not all bytes are in the file; empty if
  // there is none.
  std::optional<State> circle() {
    State first{};
    for (std::uint32_t i = 0; i < c_.agents * c_.lanes; ++i) first[i].to_write = c_.records;
    see(first);
    while (!open_.empty()) {
      const State state = open_.front();
      open_.pop_front();
      const std::size_t before = moves_;
      for (std::uint32_t agent = 0; agent < c_.agents; ++agent) step(state, agent);
      if (moves_ == before && !over(state)) return state;
    }
    return std::nullopt;
  }
  std::size_t states() const { return seen_.size(); }

 private:
  std::string key(const State& state) const {
    return {reinterpret_cast<const char*>(state.data()), c_.agents * c_.lanes * sizeof(Part)};
  }
  void see(const State& state) {
    if (seen_.insert(key(state)).second) open_.push_back(state);
  }
  void to(const State& state) {
    ++moves_;
    see(state);
  }
  std::uint32_t index(std::uint32_t agent, std::uint32_t lane) const { return agent * c_.lanes + lane; }
  std::uint32_t server(std::uint32_t lane) const { return lane % c_.agents; }
  std::uint32_t next(std::uint32_t agent, std::uint32_t lane) const {
    return c_.ring ? (agent + 1) % c_.agents : server(lane);
  }
  bool feeds(std::uint32_t from, std::uint32_t to, std::uint32_t lane) const {
    return from != server(lane) && next(from, lane) == to;
  }
  bool fed(std::uint32_t agent, std::uint32_t lane) const {
    for (std::uint32_t from = 0; from < c_.agents; ++from) {
      if (feeds(from, agent, lane)) return true;
    }
    return false;
  }
  static bool over(const State& state) {
    return std::ranges::all_of(state, [](const Part& p) {
      return p.to_write + p.held + p.leaving + p.stored + p.returning + p.link == 0;
    });
  }
  // True if no further record comes to this lane here: its ranks have written all, and so have the agents
  // that feed it.
  bool complete(const State& state, std::uint32_t agent, std::uint32_t lane) const {
    const Part& part = state[index(agent, lane)];
    if (part.to_write > 0) return false;
    for (std::uint32_t from = 0; from < c_.agents; ++from) {
      if (!feeds(from, agent, lane)) continue;
      const Part& other = state[index(from, lane)];
      if (other.held + other.leaving + other.stored + other.returning + other.link > 0) return false;
      if (!complete(state, from, lane)) return false;
    }
    return true;
  }

  static std::uint32_t in_use(const Part& p) { return p.held + p.leaving; }
  std::uint32_t due(const Part& p) const { return p.returning > 0 ? c_.slots : 0; }

  Budget budget(const State& state, std::uint32_t agent, Budget::Supply& free) const {
    Budget budget;
    std::vector<Budget::LaneNeeds> lanes;
    std::uint32_t used = 0, leaving = 0;
    for (std::uint32_t lane = 0; lane < c_.lanes; ++lane) {
      const Part& part = state[index(agent, lane)];
      used += in_use(part);
      leaving += part.leaving;
      const bool lands = part.stored + part.returning > 0 && server(lane) == agent;
      lanes.push_back({fed(agent, lane) && rules_.share, in_use(part), due(part), lands});
    }
    const std::uint32_t window = std::max(c_.blocks / 4, c_.slots);
    budget.resize({c_.blocks, 64, 64}, 1, c_.slots, window);
    budget.starts_to_leave(leaving);
    EXPECT_TRUE(budget.recount(lanes) || !rules_.share) << c_.name;
    free = {c_.blocks - used, 64, 64};
    return budget;
  }

  // The next steps of one agent. Steps that need no memory (storage, the journal's disk) can always happen.
  void step(const State& state, std::uint32_t agent) {
    Budget::Supply free{};
    const Budget budget = this->budget(state, agent, free);
    bool starved = false;
    for (std::uint32_t lane = 0; lane < c_.lanes; ++lane)
      starved |= come_back(state, agent, lane, budget, free);
    for (std::uint32_t lane = 0; lane < c_.lanes; ++lane) {
      write(state, agent, lane, budget, free);
      leave(state, agent, lane, budget, free, starved);
      deliver(state, agent, lane);
    }
  }
  void write(const State& state, std::uint32_t agent, std::uint32_t lane, const Budget& budget,
             Budget::Supply free) {
    const std::uint32_t at = index(agent, lane);
    if (state[at].to_write == 0 || !budget.grants_rank(free)) return;
    State after = state;
    --after[at].to_write;
    ++after[at].held;
    after[at].asked = 0;
    to(after);
  }
  // The departures of Memory::make_room, of make_way, and of a request.
  void leave(const State& state, std::uint32_t agent, std::uint32_t lane, const Budget& budget,
             Budget::Supply free, bool starved) {
    const std::uint32_t at = index(agent, lane);
    const Part& part = state[at];
    const bool asked = part.asked > 0 || complete(state, agent, lane);
    if (part.held > 0) {
      const bool stopped = !budget.grants_rank(free) || starved;
      const bool takes = budget.grants_share(free, in_use(part));
      const bool makes_way = rules_.share && stopped && fed(agent, lane) && part.leaving == 0 && !takes;
      if (asked || budget.wants_departures(free) || makes_way) {
        State after = state;
        --after[at].held;
        // If there is a journal, an evicted chunk goes there; a request makes a chunk leave.
        const bool stores = c_.journal && !asked;
        ++(stores ? after[at].stored : after[at].leaving);
        to(after);
      }
      if (c_.journal && part.asked == 0) {  // a flush or a sync, at any time
        State after = state;
        after[at].asked = 1;
        to(after);
      }
    }
    if (part.leaving > 0 && (server(lane) == agent || part.link == 0)) {
      State after = state;
      --after[at].leaving;
      if (server(lane) != agent) ++after[at].link;
      to(after);
    }
  }
  // True if there is no room for a chunk that has to come back.
  bool come_back(const State& state, std::uint32_t agent, std::uint32_t lane, const Budget& budget,
                 Budget::Supply free) {
    const std::uint32_t at = index(agent, lane);
    const Part& part = state[at];
    if (part.returning > 0) {
      if (!budget.grants_rest(free, c_.slots)) return true;
      State after = state;
      after[at].returning = 0;
      ++after[at].leaving;
      to(after);
      return false;
    }
    if (part.stored == 0 || !(part.asked > 0 || complete(state, agent, lane))) return false;
    if (!budget.grants_return(free, server(lane) != agent)) return true;
    State after = state;
    --after[at].stored;
    after[at].returning = 1;
    to(after);
    return false;
  }
  // A record arrives at the next agent if that agent takes it.
  void deliver(const State& state, std::uint32_t agent, std::uint32_t lane) {
    const std::uint32_t at = index(agent, lane);
    if (server(lane) == agent || state[at].link == 0) return;
    const std::uint32_t there = index(next(agent, lane), lane);
    Budget::Supply free{};
    const Budget budget = this->budget(state, next(agent, lane), free);
    if (!budget.grants_rank(free) && !budget.grants_share(free, in_use(state[there]))) return;
    State after = state;
    --after[at].link;
    ++after[there].held;
    after[there].asked = 0;
    to(after);
  }

  Cluster c_;
  Rules rules_;
  std::deque<State> open_;
  std::unordered_set<std::string> seen_;
  std::size_t moves_ = 0;
};

class BudgetExplorer : public ::testing::TestWithParam<Cluster> {};

TEST_P(BudgetExplorer, nobody_waits_for_ever) {
  Explorer explorer(GetParam(), {});
  EXPECT_FALSE(explorer.circle()) << explorer.states() << " states";
  RecordProperty("states", std::to_string(explorer.states()));
  EXPECT_GT(explorer.states(), 100U);
}

constexpr Cluster one_journal{"one_journal", 1, 1, false, true, 4, 2, 6};
constexpr Cluster two_servers{"two_servers", 2, 2, false, false, 4, 1, 3};
constexpr Cluster two_servers_journal{"two_servers_journal", 2, 2, false, true, 6, 1, 2};
constexpr Cluster two_servers_chunks{"two_servers_chunks", 2, 2, false, true, 6, 2, 2};
constexpr Cluster ring_of_three{"ring_of_three", 3, 1, true, false, 4, 1, 4};
constexpr Cluster ring_of_three_journal{"ring_of_three_journal", 3, 1, true, true, 4, 1, 2};

INSTANTIATE_TEST_SUITE_P(Small, BudgetExplorer,
                         ::testing::Values(one_journal, two_servers, two_servers_journal, two_servers_chunks,
                                           ring_of_three, ring_of_three_journal),
                         [](const auto& one) { return std::string(one.param.name); });

// A lane that has no block may always read one, so no lane waits for another one's blocks.
TEST(Budget, every_lane_may_read_and_all_of_them_have_a_bound) {
  Budget budget;
  std::size_t one_lane = 0;
  for (; budget.grants_read(one_lane); ++one_lane) budget.starts_to_read();
  EXPECT_EQ(one_lane, Budget::lane_reads_max);
  std::size_t all = one_lane;
  for (; budget.grants_read(1); ++all) budget.starts_to_read();
  EXPECT_EQ(all, Budget::reads_max);
  EXPECT_TRUE(budget.grants_read(0));
  budget.has_read(one_lane);
  EXPECT_TRUE(budget.grants_read(1));
}

// The explorer finds a circle if there is one.
TEST(BudgetExplorer, without_shares_two_servers_wait_for_each_other) {
  EXPECT_TRUE(Explorer(two_servers, {.share = false}).circle());
}

}  // namespace
}  // namespace millrace::agent
