// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Tests with ranks and an agent as real processes: normal operation.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "client/open/testing/ranks.hpp"

namespace millrace::client {
namespace {

using testing::contents;
using testing::create;
using testing::Job;
using testing::open_file;
using testing::pattern;
using testing::Step;
using testing::text_of;
using testing::write_range;

TEST(Client, DirectWritesAskTheAgentOnlyWhereBytesArePending) {
  Job job("places");
  const std::string path = job.path("data");
  create(path);
  const std::string stats = job.path("stats");
  EXPECT_EQ(job.run([&] {
    ::setenv("MILLRACE_STATS", stats.c_str(), 1);
    auto file = open_file(path);
    RANK_CHECK(write_range(*file, 1, 5 * MiB, 5 * MiB + 1000, 100) == 0);
    for (int i = 0; i < 100; ++i) RANK_CHECK(file->flush(Before::write, {6 * MiB, 20 * MiB}).ok());
    RANK_CHECK(file->flush(Before::write, {0, 5 * MiB}).ok());
    RANK_CHECK(file->flush(Before::write, {4 * MiB, 5 * MiB + 1}).ok());
    const std::vector<std::byte> bytes = contents(path);
    RANK_CHECK(bytes.size() == 5 * MiB + 1000);
    RANK_CHECK(file->close().ok());
    return 0;
  }),
            0);
  const std::string text = text_of(stats);
  EXPECT_NE(text.find("\"flushes\":1,"), std::string::npos) << text;
}

// Two ranks take turns, as with a barrier between their writes; each write goes one way or the other.
TEST(Client, DirectAndPipelinedWritesOfRanksInTurnKeepTheirOrder) {
  constexpr int turns = 600;
  constexpr std::uint64_t file_bytes = 3 * MiB;
  Job job("turns", {"MILLRACED_FAKE=hold", "MILLRACE_STRATEGY=sort"});
  const std::string path = job.path("data");
  create(path);
  struct Turn {
    Extent extent;
    bool direct;
  };
  std::vector<Turn> plan;
  std::vector<std::byte> oracle(file_bytes);
  std::mt19937_64 random(11);
  for (int turn = 0; turn < turns; ++turn) {
    const std::uint64_t begin = random() % (file_bytes - 5000);
    plan.push_back({{begin, begin + 1 + random() % 5000}, random() % 3 == 0});
    const auto data = pattern(static_cast<unsigned>(turn), begin, plan.back().extent.size());
    std::copy(data.begin(), data.end(), oracle.begin() + static_cast<std::ptrdiff_t>(begin));
  }
  int ways[2][2];
  ASSERT_EQ(::pipe(ways[0]), 0);
  ASSERT_EQ(::pipe(ways[1]), 0);
  const auto body = [&](int rank) {
    auto file = open_file(path, 2);
    const Fd own(::open(path.c_str(), O_WRONLY));
    char token = 0;
    for (int turn = 0; turn < turns; ++turn) {
      if (turn % 2 != rank) continue;
      if (turn > 0) RANK_CHECK(::read(ways[rank][0], &token, 1) == 1);
      const auto [extent, direct] = plan[static_cast<std::size_t>(turn)];
      const auto data = pattern(static_cast<unsigned>(turn), extent.begin, extent.size());
      if (direct) {
        RANK_CHECK(file->flush(Before::write, extent).ok());
        RANK_CHECK(::pwrite(own.get(), data.data(), data.size(), static_cast<off_t>(extent.begin)) ==
                   static_cast<ssize_t>(data.size()));
      } else {
        RANK_CHECK(file->enter_pipeline({data.size(), 1, 1}));
        const Piece piece{extent.begin, data.data(), data.size()};
        RANK_CHECK(file->write({&piece, 1}).ok());
      }
      RANK_CHECK(::write(ways[1 - rank][1], "x", 1) == 1);
    }
    return file->close().ok() ? 0 : 1;
  };
  const pid_t first = job.start([&] { return body(0); });
  const pid_t second = job.start([&] { return body(1); });
  EXPECT_EQ(job.wait(first), 0);
  EXPECT_EQ(job.wait(second), 0);
  std::vector<std::byte> bytes = contents(path);
  bytes.resize(file_bytes);
  EXPECT_TRUE(bytes == oracle);
  for (const auto& way : ways) {
    ::close(way[0]);
    ::close(way[1]);
  }
}

TEST(Client, BytesReachTheFileWhateverTheSizes) {
  Job job("sizes", {"MILLRACE_STRATEGY=sort", "MILLRACE_DIRECT_ABOVE=1GiB"});
  const std::string path = job.path("data");
  create(path);
  EXPECT_EQ(job.run([&] {
    auto file = open_file(path);
    RANK_CHECK(write_range(*file, 1, 0, 10'000'000, 200'000) == 0);
    RANK_CHECK(file->registered());
    RANK_CHECK(file->close().ok());
    return 0;
  }),
            0);
  EXPECT_EQ(contents(path), pattern(1, 0, 10'000'000));
  EXPECT_TRUE(job.agent_leaves_within(5));
}

TEST(Client, SixtyFourRanksShareOneAgent) {
  Job job("many");
  const std::string path = job.path("data");
  create(path);
  constexpr std::uint64_t share = 300'000;
  std::vector<pid_t> ranks;
  for (unsigned rank = 0; rank < 64; ++rank) {
    ranks.push_back(job.start([&, rank] {
      auto file = open_file(path, 64);
      RANK_CHECK(write_range(*file, rank, rank * share, (rank + 1) * share, 1000) == 0);
      RANK_CHECK(file->close().ok());
      return 0;
    }));
  }
  for (const pid_t rank : ranks) EXPECT_EQ(job.wait(rank), 0);
  const std::vector<std::byte> bytes = contents(path);
  ASSERT_EQ(bytes.size(), 64 * share);
  for (unsigned rank = 0; rank < 64; ++rank) {
    const auto expected = pattern(rank, rank * share, share);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), bytes.begin() + rank * share)) << rank;
  }
  EXPECT_TRUE(job.agent_leaves_within(5));
}

TEST(Client, WhoOpensAFileWaitsForWhatOthersLeftWithTheAgent) {
  Job job("left", {"MILLRACED_FAKE=keep"});
  const std::string path = job.path("data"), other = job.path("other");
  create(path);
  create(other);
  int over[2];
  ASSERT_EQ(::pipe(over), 0);
  const pid_t witness = job.start([&] {  // keeps the agent alive
    ::close(over[1]);
    auto file = open_file(other);
    RANK_CHECK(write_range(*file, 1, 0, 100, 100) == 0);
    char end = 0;
    RANK_CHECK(::read(over[0], &end, 1) == 0);
    return file->close().ok() ? 0 : 1;
  });
  EXPECT_EQ(job.run([&] {
    ::close(over[1]);
    auto file = open_file(path);
    RANK_CHECK(write_range(*file, 7, 0, 5000, 100) == 0);
    ::_exit(0);  // without closing
    return 0;
  }),
            0);
  EXPECT_EQ(job.run([&] {
    ::close(over[1]);
    const auto left = [&] {
      settle_ledgers(path.c_str(), true);
      return contents(path) == pattern(7, 0, 5000);
    };
    for (int i = 0; i < 1000 && !left(); ++i)
      ::usleep(10'000);  // until the agent has seen the end of the rank
    RANK_CHECK(left());
    return 0;
  }),
            0);
  ::close(over[0]);
  ::close(over[1]);
  EXPECT_EQ(job.wait(witness), 0);
}

TEST(Client, ARankReadsWhatAnotherOneWroteBefore) {
  Job job("visible", {"MILLRACED_FAKE=hold"});
  const std::string path = job.path("data");
  create(path);
  const Step opened, written, read;
  const pid_t reader = job.start([&] {
    auto file = open_file(path, 2);
    RANK_CHECK(file->flush(Before::read, {0, 100}).ok());  // no agent yet: nothing is pending
    RANK_CHECK(!file->registered());
    opened.reach();
    RANK_CHECK(written.await());
    RANK_CHECK(file->flush(Before::read, {0, 100}).ok());
    RANK_CHECK(contents(path) == pattern(7, 0, 5000));
    read.reach();
    RANK_CHECK(file->close().ok());
    return 0;
  });
  ASSERT_TRUE(opened.await());
  const pid_t writer = job.start([&] {
    auto file = open_file(path, 2);
    RANK_CHECK(write_range(*file, 7, 0, 5000, 100) == 0);
    written.reach();
    RANK_CHECK(read.await());
    RANK_CHECK(file->close().ok());
    return 0;
  });
  EXPECT_EQ(job.wait(reader), 0);
  EXPECT_EQ(job.wait(writer), 0);
}

TEST(Client, FlushAsksNobodyWhenNothingIsPending) {
  Job job("clean");
  const std::string path = job.path("data");
  const std::string stats = job.path("stats");
  create(path);
  Job quiet("clean2", {"MILLRACE_STATS=" + stats});
  EXPECT_EQ(quiet.run([&] {
    auto file = open_file(path);
    RANK_CHECK(write_range(*file, 3, 0, 1000, 100) == 0);
    for (int i = 0; i < 100; ++i) RANK_CHECK(file->flush(Before::read).ok());
    RANK_CHECK(file->sync().ok());
    RANK_CHECK(file->close().ok());
    return 0;
  }),
            0);
  const std::string text = text_of(stats);
  EXPECT_NE(text.find("\"flushes\":1,"), std::string::npos) << text;
  EXPECT_NE(text.find("\"kind\":\"client\""), std::string::npos) << text;
  EXPECT_NE(text.find("\"reason\":[\"pipeline: expected to take less time\"]"), std::string::npos) << text;
}

// The front end passes a call with many pieces in batches, and a call with scattered memory in parts. The
// report counts each as one call.
TEST(Client, TheReportCountsTheProgramsCalls) {
  Job job("calls", {"MILLRACE_DIRECT_ABOVE=1GiB"});
  const std::string path = job.path("data"), stats = job.path("stats");
  create(path);
  EXPECT_EQ(job.run([&] {
    ::setenv("MILLRACE_STATS", stats.c_str(), 1);
    auto file = open_file(path);
    const std::vector<std::byte> data(600);
    for (std::uint64_t call = 0; call < 3; ++call) {
      RANK_CHECK(file->enter_pipeline({.bytes = 600, .pieces = 6, .calls = 6}));
      for (std::uint64_t batch = 0; batch < 2; ++batch) {
        std::vector<Piece> pieces;
        for (std::uint64_t i = 3 * batch; i < 3 * batch + 3; ++i)
          pieces.push_back({call * 10'000 + i * 1000, data.data() + i * 100, 100});
        RANK_CHECK(file->write(pieces).ok());
      }
    }
    const Piece piece{50'000, data.data(), 100};
    RANK_CHECK(file->enter_pipeline({.bytes = 100, .pieces = 1, .calls = 1, .goes_on = true}));
    RANK_CHECK(file->write({&piece, 1}).ok());
    RANK_CHECK(file->close().ok());
    return 0;
  }),
            0);
  const std::string text = text_of(stats);
  EXPECT_NE(text.find("\"calls\":3,"), std::string::npos) << text;
  EXPECT_NE(text.find("\"pieces\":19,"), std::string::npos) << text;
}

TEST(Client, ThreadsOfOneRankShareItsRing) {
  Job job("threads");
  const std::string path = job.path("data");
  create(path);
  EXPECT_EQ(job.run([&] {
    auto file = open_file(path);
    std::atomic<int> failed{0};
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        failed += write_range(*file, 5, i * 800'000, (i + 1) * 800'000, 3000);  // more than the ring holds
        failed += file->flush(Before::read).ok() ? 0 : 1;
      });
    }
    for (std::thread& thread : threads) thread.join();
    RANK_CHECK(failed == 0);
    RANK_CHECK(file->close().ok());
    return 0;
  }),
            0);
  EXPECT_EQ(contents(path), pattern(5, 0, 3'200'000));
}

// After a barrier, the later write wins. MPI does not promise this order, but POSIX does, and programs rely
// on it.
TEST(Client, WritesOfTwoRanksWithABarrierBetweenKeepTheirOrder) {
  Job job("order", {"MILLRACED_FAKE=hold"});
  const std::string path = job.path("data");
  create(path);
  constexpr int rounds = 400;
  int to[2][2];  // rank r waits at pipe to[r]
  ASSERT_EQ(::pipe(to[0]) + ::pipe(to[1]), 0);
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    ranks.push_back(job.start([&, rank] {
      auto file = open_file(path, 2);
      char token = 0;
      // Both ranks write every block. Rank 0 writes last in odd rounds, and rank 1 in even rounds.
      for (int round = 0; round < rounds; ++round) {
        const bool first = round % 2 == rank;
        if (!first) RANK_CHECK(::read(to[rank][0], &token, 1) == 1);
        const std::vector<std::byte> data(64, static_cast<std::byte>(first ? 1 : 2));
        RANK_CHECK(file->enter_pipeline({64, 1, 1}));
        const Piece piece{static_cast<std::uint64_t>(round) * 64, data.data(), 64};
        RANK_CHECK(file->write({&piece, 1}).ok());
        if (first) RANK_CHECK(::write(to[1 - rank][1], "x", 1) == 1);
      }
      RANK_CHECK(file->close().ok());
      return 0;
    }));
  }
  for (const pid_t rank : ranks) EXPECT_EQ(job.wait(rank), 0);
  const std::vector<std::byte> bytes = contents(path);
  ASSERT_EQ(bytes.size(), 64u * rounds);
  for (int round = 0; round < rounds; ++round) {
    ASSERT_EQ(static_cast<int>(bytes[static_cast<std::size_t>(round) * 64]), 2) << "round " << round;
  }
  for (auto& pipe : to) {
    ::close(pipe[0]);
    ::close(pipe[1]);
  }
}

}  // namespace
}  // namespace millrace::client
