// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// The number of writes of a file that does not fit into the sort buffer.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "agent/core/testing/core_rig.hpp"
#include "agent/core/testing/told.hpp"

namespace millrace::agent {
namespace {

constexpr std::size_t tiny_piece = 256;

class Eviction : public CoreTest {
 protected:
  // Writes the pieces of these numbers, closes the file, and returns the agent's number of writes.
  std::uint64_t writes_of(const std::vector<std::uint64_t>& pieces) {
    start();
    FileSettings settings = roomy(Strategy::automatic);
    settings.record_max_bytes = 32 * KiB;
    const FileSlot slot = rig->open(0, file, settings);
    for (const std::uint64_t number : pieces)
      rig->fill(0, slot, number * tiny_piece, tiny_piece, static_cast<int>(1 + number % 251));
    rig->core.close(0, slot, 1, {});
    EXPECT_LT(steps_until(0, 1), 5000);
    settle();
    EXPECT_TRUE(rig->same(0));
    const std::string& report = rig->reports.at(0);
    EXPECT_LE(number_at(report, "/memory/peak_buffer_bytes"), settings.sort_buffer_bytes);
    EXPECT_GT(number_at(report, "/agent/evictions"), 0u);
    return number_at(report, "/agent/writes_out");
  }
};

// The buffer has room for 12 MiB beside its window. Regression test: all chunks left in turn, with a write
// for nearly every piece.
TEST_F(Eviction, of_random_pieces_lets_most_chunks_become_complete) {
  std::vector<std::uint64_t> pieces(14 * MiB / tiny_piece);
  std::iota(pieces.begin(), pieces.end(), 0);
  std::shuffle(pieces.begin(), pieces.end(), std::mt19937_64(1));
  EXPECT_LT(writes_of(pieces), pieces.size() / 2);
}

// Ranks that each write a part of the file in order, with a hole in every MiB.
TEST_F(Eviction, of_pieces_in_order_does_not_cut_them) {
  constexpr std::uint64_t ranks = 6, part = 8 * MiB / tiny_piece, hole = MiB / tiny_piece;
  std::vector<std::uint64_t> pieces;
  for (std::uint64_t i = 0; i < part; ++i) {
    for (std::uint64_t rank = 0; rank < ranks && i % hole != hole / 2; ++rank)
      pieces.push_back(rank * part + i);
  }
  EXPECT_LE(writes_of(pieces), 3 * ranks * (part / hole));
}

}  // namespace
}  // namespace millrace::agent
