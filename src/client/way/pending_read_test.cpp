// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Reads that go on while the program computes.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "client/way/read_ahead.hpp"
#include "client/way/testing/fake_window.hpp"

namespace millrace::client {
namespace {

using testing::blocks;
using testing::bytes_map;
using testing::Rank;
using testing::seeds;

constexpr std::uint64_t file_bytes = 16 * MiB;
constexpr std::byte untouched{0x55};

// A call that has begun, and what belongs to it.
struct Started {
  FileView view;
  std::uint64_t position;
  std::vector<std::byte> memory;
  Status begun;
  std::unique_ptr<PendingRead> read;
};

std::unique_ptr<Started> start(Rank& rank, std::uint64_t position, std::uint64_t bytes) {
  auto call = std::make_unique<Started>();
  call->view = rank.view;
  call->position = position;
  call->memory.assign(bytes, untouched);
  const PieceSource source(call->view, position, *bytes_map(), call->memory.data(), bytes);
  const std::uint64_t end = call->view.hull_of(position, bytes).end;
  Result<std::unique_ptr<PendingRead>> read = rank.ahead.start(call->view, position, source, end);
  call->begun = read.status();
  if (read) call->read = *std::move(read);
  return call;
}

void finish(Rank& rank, const Started& call) {
  const Status status = call.read->finish();
  ASSERT_TRUE(status.ok()) << status.describe();
  rank.expect(call.view, call.position, call.memory);
}

bool is_untouched(const Started& call) {
  return std::ranges::all_of(call.memory, [](std::byte one) { return one == untouched; });
}

TEST(PendingRead, ReturnsBeforeItsBytesHaveCome) {
  Rank rank(file_bytes);
  const auto call = start(rank, 1000, 3 * MiB);
  ASSERT_TRUE(call->begun.ok());
  EXPECT_TRUE(is_untouched(*call));
  EXPECT_EQ(rank.window.asked_bytes, 3 * MiB);
  finish(rank, *call);
  finish(rank, *call);  // again
  EXPECT_EQ(rank.ahead.counters().bytes, 3 * MiB);
}

TEST(PendingRead, MayBeFinishedInAnyOrder) {
  Rank rank(file_bytes);
  std::vector<std::unique_ptr<Started>> calls;
  for (std::uint64_t i = 0; i < 12; ++i)
    calls.push_back(start(rank, i % 3 * 5 * MiB + i * 1000, 100'000 + i));
  for (const std::size_t i : {11, 3, 4, 0, 10, 5, 2, 1, 9, 6, 8, 7}) finish(rank, *calls[i]);
  EXPECT_EQ(rank.window.asked_bytes, 12 * 100'000 + 66);
}

TEST(PendingRead, ABlockingReadComesBehindIt) {
  Rank rank(file_bytes);
  const auto call = start(rank, 0, 200'000);
  rank.read(4 * MiB, 100'000);
  EXPECT_EQ(rank.left, 0);
  finish(rank, *call);
}

TEST(PendingRead, LargerThanTheWindowItHoldsUpNoBlockingRead) {
  Rank rank(file_bytes);
  const auto call = start(rank, 0, 10 * MiB);
  EXPECT_EQ(rank.window.asked_bytes, 4 * MiB);
  rank.read(12 * MiB, 100'000);
  EXPECT_EQ(rank.left, 1);
  EXPECT_TRUE(is_untouched(*call));
  const auto next = start(rank, 12 * MiB, 100'000);
  finish(rank, *next);
  finish(rank, *call);
}

TEST(PendingRead, TakesWhatIsOnItsWayAlready) {
  Rank rank(file_bytes);
  rank.view = blocks(256, 256, 4096);
  rank.read(0, 256);
  const auto next = start(rank, 256, 512), behind = start(rank, 768, 1000);
  ASSERT_TRUE(next->begun.ok() && behind->begun.ok());
  finish(rank, *behind);
  finish(rank, *next);
  EXPECT_EQ(rank.ahead.counters().guessed_bytes, 1512u);
  rank.read(1768, 256);
}

TEST(PendingRead, ADropLeavesItAndForgetsWhatIsBehindIt) {
  Rank rank(file_bytes);
  for (std::uint64_t at = 0; at < 100 * KiB; at += 1024) rank.read(at, 1024);
  const auto call = start(rank, 100 * KiB, 1024);
  rank.ahead.drop();
  finish(rank, *call);
  std::ranges::fill(rank.window.file, std::byte{7});
  rank.read(101 * KiB, 1024);
}

TEST(PendingRead, GuessesNothingWhileTheProgramWaits) {
  Rank rank(file_bytes);
  for (std::uint64_t at = 0; at < 1 * MiB; at += 64 * KiB) rank.read(at, 64 * KiB);
  const auto call = start(rank, 1 * MiB, 64 * KiB);
  rank.ahead.drop();  // the process writes behind the call
  const std::uint64_t asked = rank.window.asked_bytes;
  finish(rank, *call);
  EXPECT_EQ(rank.window.asked_bytes, asked);
  std::ranges::fill(rank.window.file, std::byte{7});
  rank.read(1 * MiB + 64 * KiB, 64 * KiB);
}

TEST(PendingRead, FailsWithTheAgents) {
  Rank rank(file_bytes);
  const auto first = start(rank, 0, 100'000), second = start(rank, 5 * MiB, 100'000);
  rank.window.fails_from = 2;
  EXPECT_EQ(second->read->finish().code(), Code::lost_peer);
  finish(rank, *first);  // its bytes had come
  EXPECT_EQ(start(rank, 0, 100'000)->begun.code(), Code::lost_peer);
  EXPECT_TRUE(rank.window.all_parts_are_free());
}

TEST(PendingRead, ThatIsGivenUpTakesNoBytes) {
  Rank rank(file_bytes);
  const auto first = start(rank, 0, 100'000), second = start(rank, 5 * MiB, 100'000);
  first->read.reset();
  EXPECT_EQ(second->read->finish().code(), Code::unsupported);
  EXPECT_TRUE(is_untouched(*first) && is_untouched(*second));
  rank.read(0, 100'000);
  rank.ahead.drop();
  EXPECT_TRUE(rank.window.all_parts_are_free());
}

TEST(PendingRead, BeginsOnlyIfSomethingIsOnItsWay) {
  Rank rank(file_bytes);
  rank.window.usable_parts = 0;
  EXPECT_EQ(start(rank, 0, 100'000)->begun.code(), Code::no_memory);
  rank.window.usable_parts = 1;
  const auto first = start(rank, 0, 100'000), second = start(rank, 1 * MiB, 100'000);
  ASSERT_TRUE(first->begun.ok() && second->begun.ok());
  EXPECT_EQ(rank.window.asked_bytes, 100'000u);
  EXPECT_EQ(start(rank, file_bytes - 10, 20)->begun.code(), Code::unsupported);
  finish(rank, *second);
  finish(rank, *first);
}

// Calls that begin and end in any order, with blocking reads, other views and drops between them.
TEST(PendingRead, RandomCallsAreRight) {
  for (unsigned seed = 1; seed <= seeds(30); ++seed) {
    std::mt19937_64 random(seed);
    Rank rank(file_bytes, random() % 2 == 0);
    rank.window.usable_parts = 1 + static_cast<std::uint32_t>(random() % ReadWindow::parts);
    std::vector<std::unique_ptr<Started>> calls;
    const auto finish_one = [&] {
      const std::size_t i = random() % calls.size();
      finish(rank, *calls[i]);
      calls.erase(calls.begin() + static_cast<std::ptrdiff_t>(i));
    };
    std::uint64_t at = 0;
    for (int i = 0; i < 400; ++i) {
      if (random() % 60 == 0)
        rank.view = blocks(random() % 1000, 1 + random() % 3000, 3000 + random() % 3000);
      const std::uint64_t bytes = 1 + random() % (std::uint64_t{1} << random() % 21);
      at = random() % 6 == 0 || at + bytes > 4 * MiB ? random() % (2 * MiB) : at;
      switch (random() % 4) {
        case 0:
          rank.read(at, bytes);
          at += bytes;
          break;
        case 1:
          if (random() % 20 == 0) rank.ahead.drop();
          if (!calls.empty()) finish_one();
          break;
        default:
          calls.push_back(start(rank, at, bytes));
          at += bytes;
          if (!calls.back()->begun.ok()) calls.pop_back();
      }
      ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
    }
    while (!calls.empty()) finish_one();
    rank.ahead.drop();
    EXPECT_TRUE(rank.window.all_parts_are_free()) << "seed " << seed;
    EXPECT_LE(rank.ahead.counters().wrong_bytes, rank.ahead.counters().bytes / 4 + 512 * KiB);
  }
}

}  // namespace
}  // namespace millrace::client
