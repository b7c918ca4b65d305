// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <tuple>

#include "agent/core/testing/core_rig.hpp"

namespace millrace::agent {
namespace {

std::uint64_t number(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}
std::uint64_t first_seed() { return number("MILLRACE_TEST_SEED", 1); }
// Seeds per case: a few by default, thousands in a long test.
std::uint64_t last_seed() { return first_seed() + number("MILLRACE_TEST_SEEDS", 2); }

// Strategy, merge, alignment of offsets and sizes.
using Case = std::tuple<Strategy, bool, std::uint64_t>;

class Oracle : public testing::TestWithParam<Case> {};

struct Shape {
  std::uint64_t file_bytes;
  std::uint64_t size_max;
  int records;
};

void run(std::uint64_t seed, const Case& c, const Shape& shape, const std::string& journals = "/tmp") {
  SCOPED_TRACE("seed " + std::to_string(seed));
  const auto [strategy, merge, align] = c;
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t bound) { return random() % bound; };
  Rig rig(io::MemoryOptions{.seed = seed}, journals);
  const Fd file = rig.storage.create();
  FileSettings settings = tiny(strategy, merge);
  settings.sink = below(4) == 0 ? SinkMode::direct : SinkMode::buffered;
  const SenderId ranks = 1 + static_cast<SenderId>(below(4));
  FileSlot slot = 0;
  for (SenderId rank = 0; rank < ranks; ++rank) slot = rig.open(rank, file, settings);

  std::vector<std::byte> data(std::max(shape.size_max, align) + 8);
  std::vector<std::pair<SenderId, std::uint32_t>> asked;
  std::uint32_t request = 0;
  for (int i = 0; i < shape.records; ++i) {  // records may overlap
    const auto rank = static_cast<SenderId>(below(ranks));
    const std::uint64_t size = std::max(align, (1 + below(shape.size_max)) / align * align);
    const std::uint64_t offset = below(shape.file_bytes - size) / align * align;
    for (std::size_t b = 0; b < size; b += 8) {
      const std::uint64_t bits = random();
      std::memcpy(&data[b], &bits, 8);
    }
    rig.write(rank, slot, offset, std::span(data).first(size));
    if (below(64) == 0) rig.step();
    if (below(256) != 0) continue;
    const std::uint64_t begin = below(shape.file_bytes);
    const Extent extent{begin, begin + below(shape.file_bytes)};
    rig.core.ask(transport::Kind::flush, rank, slot, ++request, extent);
    ASSERT_TRUE(rig.await(rank, request));
    ASSERT_TRUE(rig.reply(rank, request).ok());
    ASSERT_TRUE(rig.same(0, extent)) << "after a flush";
  }
  for (SenderId rank = 0; rank < ranks; ++rank) rig.core.close(rank, slot, 1000, {});
  for (SenderId rank = 0; rank < ranks; ++rank) {
    ASSERT_TRUE(rig.await(rank, 1000));
    EXPECT_TRUE(rig.reply(rank, 1000).ok());
  }
  ASSERT_TRUE(rig.same(0));
  for (int i = 0; i < 1000 && !rig.core.idle(); ++i) rig.step();
  EXPECT_TRUE(rig.core.idle());
  EXPECT_EQ(rig.reports.size(), 1u);
  EXPECT_EQ(rig.storage.misuse(), io::Misuse{});
  if (strategy == Strategy::journal && shape.file_bytes > 2 * MiB) {
    EXPECT_EQ(rig.reports.at(0).find("\"journaled_bytes\":0,"), std::string::npos) << rig.reports[0];
  }
}

TEST_P(Oracle, small_records_overlapping) {
  for (std::uint64_t seed = first_seed(); seed < last_seed(); ++seed) {
    run(seed, GetParam(), {600 * KiB, 900, 4000});
    if (HasFatalFailure()) return;
  }
}

TEST_P(Oracle, sizes_up_to_100_kib_in_a_file_larger_than_the_buffer) {
  for (std::uint64_t seed = first_seed(); seed < last_seed(); ++seed) {
    run(seed, GetParam(), {5 * MiB, 100 * KiB, 200});
    if (HasFatalFailure()) return;
  }
}

TEST_P(Oracle, tiny_records_far_apart) {
  for (std::uint64_t seed = first_seed(); seed < last_seed(); ++seed) {
    run(seed, GetParam(), {16 * MiB, 16, 2000});
    if (HasFatalFailure()) return;
  }
}

// A chunk waits until the storage has answered that there can be no file, and newer parts of it wait too.
TEST(Journal, without_a_file_chunks_go_to_the_target_in_their_order) {
  for (std::uint64_t seed = first_seed(); seed < last_seed() + 20; ++seed) {
    run(seed, {Strategy::journal, seed % 2 == 0, 1}, {600 * KiB, 9000, 1000}, "/nowhere");
    run(seed, {Strategy::journal, seed % 2 == 0, 1}, {2 * MiB, 100 * KiB, 200}, "/nowhere");
    if (HasFatalFailure()) return;
  }
}

// Requests that come while chunks wait for that answer get theirs.
TEST(Journal, requests_are_answered_where_there_can_be_no_file) {
  for (const transport::Kind kind : {transport::Kind::flush, transport::Kind::sync}) {
    Rig rig(io::MemoryOptions{.max_delay_polls = 50}, "/nowhere");
    const Fd file = rig.storage.create();
    const FileSlot slot = rig.open(0, file, tiny(Strategy::journal, true));
    rig.fill(0, slot, 0, 900 * KiB, 1);
    rig.step();
    rig.core.ask(kind, 0, slot, 1, {0, UINT64_MAX});
    ASSERT_TRUE(rig.await(0, 1));
    EXPECT_TRUE(rig.reply(0, 1).ok() && rig.same(0));
    rig.core.close(0, slot, 2, {});
    ASSERT_TRUE(rig.await(0, 2));
  }
}

// The pool has fewer maps with a bit per byte than blocks.
TEST(Memory, maps_run_out_before_blocks_do) {
  for (const Strategy strategy : {Strategy::automatic, Strategy::journal}) {
    Rig rig;
    const Fd file = rig.storage.create();
    FileSettings settings;
    settings.strategy = strategy;
    const FileSlot slot = rig.open(0, file, settings);
    for (std::uint64_t at = 1; at < 80 * MiB; at += 32 * KiB) {
      rig.fill(0, slot, at, 1, 1 + static_cast<int>(at % 251));
      rig.fill(0, slot, at + 4096, 1, 2);
    }
    rig.core.close(0, slot, 1, {});
    ASSERT_TRUE(rig.await(0, 1));
    EXPECT_TRUE(rig.same(0));
    for (int i = 0; i < 1000 && !rig.core.idle(); ++i) rig.step();
    ASSERT_EQ(rig.reports.size(), 1u);
    EXPECT_EQ(rig.reports[0].find("\"evictions\":0,"), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies, Oracle,
                         testing::Combine(testing::Values(Strategy::automatic, Strategy::immediate,
                                                          Strategy::sort, Strategy::journal),
                                          testing::Bool(), testing::Values(1, 4, 256)));

}  // namespace
}  // namespace millrace::agent
