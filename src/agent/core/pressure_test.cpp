// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Agents that serve each other, with full buffers, journals and links: no wait lasts for ever.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <ostream>
#include <random>

#include "agent/core/testing/ring_rig.hpp"

namespace millrace::agent {
namespace {

constexpr std::size_t block = 4 * KiB;
constexpr int silence_steps = 5000;  // of 1 ms; without progress for so long, the wait counts as endless

enum class Order { rising, shuffled, to_the_next_server };
enum class End { close, sync, flush };

struct Load {
  transport::RoutePlan route;
  std::uint32_t nodes;
  std::uint32_t ranks;  // of each node
  FileSettings settings;
  std::size_t room;    // the most frames in a link
  std::size_t pieces;  // of each rank
  Order order;
  End end;
};

std::ostream& operator<<(std::ostream& to, const Load& load) {
  return to << "topology " << static_cast<int>(load.route.topology) << ", nodes " << load.nodes << ", lanes "
            << load.route.lanes << ", ranks " << load.ranks << ", strategy "
            << static_cast<int>(load.settings.strategy) << ", merge " << load.settings.merge << ", buffer "
            << load.settings.sort_buffer_bytes / MiB << " MiB, room " << load.room << ", order "
            << static_cast<int>(load.order) << ", end " << static_cast<int>(load.end);
}

Load journaled(std::uint32_t nodes, Order order, End end) {
  return {{Topology::ring, nodes, MiB}, nodes, 1, tiny(Strategy::journal, true), 64, 1536, order, end};
}

// Ranks that write pieces as fast as their agents take them, and then send a request. No rank waits for
// another one.
class Crowd {
 public:
  Crowd(const Load& load, std::uint64_t seed)
      : load_(load),
        random_(seed),
        all_(load.nodes * load.ranks),
        rig_(load.route, load.nodes, load.ranks, load.settings),
        done_(all_),
        asked_(all_) {
    for (RingRig::Way& way : rig_.ways) way.wire->room = load.room;
    for (std::uint32_t rank = 0; rank < all_; ++rank) {
      std::vector<std::size_t>& turns = turns_.emplace_back(load.pieces);
      std::iota(turns.begin(), turns.end(), 0u);
      if (load.order == Order::shuffled) std::shuffle(turns.begin(), turns.end(), random_);
    }
  }

  // False: a wait is endless.
  bool ends() {
    const auto all_asked = [this] {
      write_and_ask();
      return std::ranges::find(asked_, false) == asked_.end();
    };
    if (!until(all_asked) || !until([this] { return answered(1); })) return false;
    if (load_.end == End::close) return true;
    rig_.close_all(2);
    return until([this] { return answered(2); });
  }
  std::uint64_t took_ms() const { return rig_.node[0]->now_ns / ms; }
  bool right() const { return rig_.contents() == rig_.oracle; }

 private:
  template <class Over>
  bool until(Over&& over) {
    std::uint64_t seen = moved();
    for (int silent = 0; silent < silence_steps; ++silent) {
      if (over()) return true;
      rig_.step(ms, random_() % 4 != 0);
      if (const std::uint64_t now = moved(); now != seen) seen = now, silent = 0;
    }
    return false;
  }
  bool answered(std::uint32_t request) const {
    for (const auto& node : rig_.node) {
      for (SenderId rank = 0; rank < load_.ranks; ++rank) {
        if (!node->answered(rank, request)) return false;
      }
    }
    return true;
  }
  // Grows with every step of progress.
  std::uint64_t moved() const {
    std::uint64_t sum = std::accumulate(done_.begin(), done_.end(), std::uint64_t{0});
    for (const RingRig::Way& way : rig_.ways) sum += way.wire->records + way.wire->asked + way.wire->marks;
    for (const auto& node : rig_.node) sum += node->storage.submitted(io::Op::write);
    return sum;
  }
  std::uint64_t place_of(std::uint32_t rank, std::size_t turn) const {
    if (load_.order != Order::to_the_next_server) return (turns_[rank][turn] * all_ + rank) * block;
    const std::uint64_t stripe = turn / 256 * all_ + (rank + load_.ranks) % all_;
    return stripe * MiB + turn % 256 * block;
  }
  void write_and_ask() {
    for (std::uint32_t rank = 0; rank < all_; ++rank) {
      Core& core = rig_.node[rank / load_.ranks]->core;
      const FileSlot slot = rig_.slot[rank / load_.ranks];
      for (int burst = 0; burst < 1000 && done_[rank] < load_.pieces && core.ready(); ++burst) {
        const std::uint64_t offset = place_of(rank, done_[rank]++);
        const std::vector<std::byte> data(block, static_cast<std::byte>(1 + offset / block % 251));
        if (rig_.oracle.size() < offset + block) rig_.oracle.resize(offset + block);
        std::ranges::copy(data, rig_.oracle.begin() + static_cast<std::ptrdiff_t>(offset));
        core.write(rank % load_.ranks, slot, offset, data);
      }
      if (done_[rank] == load_.pieces && !asked_[rank]) ask(core, rank % load_.ranks, slot);
      asked_[rank] = done_[rank] == load_.pieces;
    }
  }
  void ask(Core& core, SenderId rank, FileSlot slot) const {
    if (load_.end == End::close) core.close(rank, slot, 1, counters(1));
    if (load_.end == End::sync) core.ask(transport::Kind::sync, rank, slot, 1);
    if (load_.end == End::flush) core.ask(transport::Kind::flush, rank, slot, 1, everything);
  }

  const Load load_;
  std::mt19937_64 random_;
  const std::uint32_t all_;
  RingRig rig_;
  std::vector<std::size_t> done_;
  std::vector<bool> asked_;
  std::vector<std::vector<std::size_t>> turns_;
};

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* given = std::getenv(name);
  return given != nullptr ? std::strtoull(given, nullptr, 10) : otherwise;
}

// All stored chunks come back on all nodes at the same time, and go to other nodes.
TEST(Pressure, FlushesOfWhatIsStoredEnd) {
  for (const Order order : {Order::rising, Order::shuffled}) {
    for (const std::uint32_t nodes : {2u, 3u}) {
      const Load load = journaled(nodes, order, End::flush);
      Crowd crowd(load, 1);
      ASSERT_TRUE(crowd.ends()) << load;
      EXPECT_TRUE(crowd.right()) << load;
    }
  }
}

// Each node has the chunks in its journal that the other one needs first. Regression test: each node held
// back the other's records until a timeout, many times.
TEST(Pressure, ServersOfEachOtherMergeWithoutWaitingForAClock) {
  for (const std::uint32_t nodes : {2u, 3u}) {
    const Load load = journaled(nodes, Order::rising, End::close);
    Crowd crowd(load, 1);
    ASSERT_TRUE(crowd.ends()) << load;
    EXPECT_LE(crowd.took_ms(), 2000u) << load;
    EXPECT_TRUE(crowd.right()) << load;
  }
}

// MILLRACE_TEST_SEED and MILLRACE_TEST_SEEDS give the first seed and the number of seeds.
TEST(Pressure, LoadsOfAnyKindEnd) {
  const std::uint64_t first = setting("MILLRACE_TEST_SEED", 1);
  for (std::uint64_t seed = first; seed < first + setting("MILLRACE_TEST_SEEDS", 8); ++seed) {
    std::mt19937_64 random(seed);
    const auto one_of = [&random](auto... choices) {
      const std::array all{choices...};
      return all[random() % all.size()];
    };
    const auto nodes = one_of(2u, 3u, 5u);
    const auto lanes = static_cast<std::uint32_t>(1 + random() % std::min(4u, nodes));
    const auto strategy = one_of(Strategy::journal, Strategy::journal, Strategy::sort, Strategy::automatic);
    Load load{{one_of(Topology::ring, Topology::direct, Topology::tree), lanes, MiB},
              nodes,
              one_of(1u, 2u),
              tiny(strategy, random() % 2 == 0),
              one_of(std::size_t{4}, std::size_t{16}, std::size_t{64}),
              512,
              one_of(Order::rising, Order::shuffled, Order::to_the_next_server),
              one_of(End::close, End::sync, End::flush)};
    load.settings.sort_buffer_bytes = one_of(1u, 1u, 2u) * MiB;
    Crowd crowd(load, seed);
    ASSERT_TRUE(crowd.ends()) << "seed " << seed << ": " << load;
    EXPECT_TRUE(crowd.right()) << "seed " << seed << ": " << load;
  }
}

}  // namespace
}  // namespace millrace::agent
