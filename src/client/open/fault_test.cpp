// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Tests with ranks and an agent as real processes: one of them dies or misbehaves.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <set>

#include "client/open/testing/ranks.hpp"
#include "transport/ring.hpp"
#include "transport/socket.hpp"

namespace millrace::client {
namespace {

using testing::contents;
using testing::create;
using testing::eventually;
using testing::files_of;
using testing::Job;
using testing::open_file;
using testing::pattern;
using testing::Step;
using testing::write_range;

void recover(const std::string& journals) {
  const std::string agent = std::getenv("TEST_AGENT");
  const std::string command = agent.substr(0, agent.rfind('/') + 1) + "millrace-recover --dir " + journals;
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST(ClientFault, AKilledAgentIsSeenWithinTwoSeconds) {
  if (Job::real_agent()) GTEST_SKIP() << "needs an agent that is stuck";
  Job job("agent-killed", {"MILLRACED_FAKE=stuck"});
  const std::string path = job.path("data");
  create(path);
  const Step writing;
  const pid_t rank = job.start([&] {
    auto file = open_file(path);
    const std::vector<std::byte> data(4096);
    Status status;
    while (status.ok()) {
      RANK_CHECK(file->enter_pipeline({data.size(), 1, 1}));
      const Piece piece{0, data.data(), data.size()};
      status = file->write({&piece, 1});  // blocks when the ring is full
      writing.reach();
    }
    RANK_CHECK(status.code() == Code::lost_agent);
    RANK_CHECK(file->sync().code() == Code::lost_agent);
    RANK_CHECK(file->close().code() == Code::lost_agent);
    auto next = open_file(path);
    RANK_CHECK(next->close().ok());
    return 0;
  });
  ASSERT_TRUE(writing.await());
  ASSERT_TRUE(Job::falls_asleep(rank));
  const pid_t agent = job.agent();
  ASSERT_GT(agent, 0);
  ASSERT_EQ(::kill(agent, SIGKILL), 0);
  EXPECT_EQ(job.wait(rank, 2), 0);
}

// All bytes of the first rank are in the file when its agent dies. The second rank has not met that agent and
// starts another one. Then `first` goes on. `second` writes first, and closes after the first rank has ended.
void with_a_second_agent(Job& job, const std::string& path, const std::function<int(File&)>& first,
                         const std::function<int(File&)>& second) {
  create(path);
  const Step flushed, killed, wrote, ended;
  const pid_t one = job.start([&] {
    auto file = open_file(path, 2);
    RANK_CHECK(write_range(*file, 1, 0, 1000, 100) == 0);
    RANK_CHECK(file->flush(Before::read).ok());
    flushed.reach();
    RANK_CHECK(wrote.await());
    return first(*file);
  });
  const pid_t other = job.start([&] {
    auto file = open_file(path, 2);
    RANK_CHECK(killed.await());
    RANK_CHECK(second(*file) == 0);
    wrote.reach();
    RANK_CHECK(ended.await());
    RANK_CHECK(file->close().ok());
    return 0;
  });
  ASSERT_TRUE(flushed.await());
  const pid_t agent = job.agent();
  ASSERT_GT(agent, 0);
  ASSERT_EQ(::kill(agent, SIGKILL), 0);
  ASSERT_TRUE(Job::ends_within(agent, 5));
  killed.reach();
  EXPECT_EQ(job.wait(one), 0);
  ended.reach();
  EXPECT_EQ(job.wait(other), 0);
}

TEST(ClientFault, ARankWhoseAgentHasGoneAsksTheOneThatAnotherRankHasStarted) {
  for (const bool writes : {false, true}) {
    Job job("second-agent", {"MILLRACED_FAKE=hold", "MILLRACE_STRATEGY=sort"});
    const std::string path = job.path("data");
    with_a_second_agent(
        job, path,
        [&](File& file) {
          RANK_CHECK(
              (writes ? file.flush(Before::write, {0, 500}) : file.flush(Before::read, {0, 500})).ok());
          RANK_CHECK(contents(path) == pattern(2, 0, 1000));
          return 0;
        },
        [](File& file) { return write_range(file, 2, 0, 1000, 100); });
    EXPECT_EQ(contents(path), pattern(2, 0, 1000));
  }
}

// The first rank's bytes are in the file, and in the ledger too.
TEST(ClientFault, ASecondAgentBringsTheLedgerOfTheFirstToTheFileBeforeItWrites) {
  if (!Job::real_agent()) GTEST_SKIP() << "needs an agent that keeps ledgers";
  Job job("second-ledger", {"MILLRACE_DURABILITY=node"});
  const std::string path = job.path("data"), journals = job.path("journals");
  ASSERT_EQ(::mkdir(journals.c_str(), 0700), 0);
  ::setenv("MILLRACE_JOURNAL_DIRECTORY", journals.c_str(), 1);
  with_a_second_agent(
      job, path, [](File&) { return 0; }, [](File& file) { return write_range(file, 2, 0, 1000, 100); });
  ::unsetenv("MILLRACE_JOURNAL_DIRECTORY");
  recover(journals);
  EXPECT_EQ(contents(path), pattern(2, 0, 1000));
}

// A rank writes into the ring of its dead agent, and enters a collective function. Then another rank, which
// has not met that agent, overwrites these bytes: by the MPI library, or through a second agent.
TEST(ClientFault, BytesFromBeforeACollectiveFunctionDoNotComeBackAfterTheAgentsDeath) {
  if (!Job::real_agent()) GTEST_SKIP() << "needs an agent that keeps ledgers";
  for (const bool second_agent : {false, true}) {
    Job job("old-ring", {"MILLRACE_STRATEGY=journal"});
    const std::string path = job.path("data"), journals = job.path("journals");
    create(path);
    ASSERT_EQ(::mkdir(journals.c_str(), 0700), 0);
    ::setenv("MILLRACE_JOURNAL_DIRECTORY", journals.c_str(), 1);
    const Step opened, joined, killed, started, met, overwritten;
    const pid_t one = job.start([&] {
      auto file = open_file(path, 2);
      RANK_CHECK(opened.await() && write_range(*file, 1, 1000, 2000, 100) == 0);
      joined.reach();
      RANK_CHECK(started.await() && write_range(*file, 1, 0, 1000, 100) == 0);
      RANK_CHECK(file->flush(Before::others_write).code() == Code::lost_agent);
      met.reach();
      RANK_CHECK(overwritten.await() && file->close().code() == Code::lost_agent);
      return 0;
    });
    const pid_t other = job.start([&] {
      auto file = open_file(path, 2);
      if (!second_agent) RANK_CHECK(file->bar(Reason::set_direct).ok());
      opened.reach();
      RANK_CHECK(killed.await());
      if (second_agent) RANK_CHECK(write_range(*file, 2, 2000, 3000, 100) == 0);
      started.reach();
      RANK_CHECK(met.await());
      if (second_agent) {
        RANK_CHECK(write_range(*file, 2, 0, 1000, 100) == 0);
      } else {
        RANK_CHECK(file->flush(Before::write, {0, 1000}).ok());
        const std::vector<std::byte> data = pattern(2, 0, 1000);
        const Fd target(::open(path.c_str(), O_WRONLY));
        RANK_CHECK(::pwrite(target.get(), data.data(), data.size(), 0) == 1000);
      }
      RANK_CHECK(file->sync().ok());
      overwritten.reach();
      (void)file->close();
      return 0;
    });
    ASSERT_TRUE(joined.await());
    const pid_t agent = job.agent();
    ASSERT_TRUE(agent > 0 && ::kill(agent, SIGKILL) == 0 && Job::ends_within(agent, 5));
    killed.reach();
    EXPECT_EQ(job.wait(one), 0);
    EXPECT_EQ(job.wait(other), 0);
    ::unsetenv("MILLRACE_JOURNAL_DIRECTORY");
    recover(journals);
    std::vector<std::byte> bytes = contents(path);
    bytes.resize(1000);
    EXPECT_EQ(bytes, pattern(2, 0, 1000));
  }
}

TEST(ClientFault, WhoNeverWroteIsToldOfWhatTheAgentTookWithIt) {
  for (const bool flushed : {false, true}) {
    Job job("bereft", {"MILLRACED_FAKE=hold", "MILLRACE_STRATEGY=sort"});
    const std::string path = job.path("data");
    create(path);
    EXPECT_EQ(job.run([&] {
      const Code expected = flushed ? Code::ok : Code::lost_agent;
      auto writer = open_file(path, 2), reader = open_file(path, 2), quiet = open_file(path, 2);
      RANK_CHECK(write_range(*writer, 1, 0, 1000, 100) == 0);
      if (flushed) RANK_CHECK(writer->flush(Before::read).ok());
      const pid_t agent = job.agent();
      RANK_CHECK(agent > 0 && ::kill(agent, SIGKILL) == 0 && Job::ends_within(agent, 2));
      for (int i = 0; i < 2; ++i) RANK_CHECK(reader->flush(Before::read, {0, 1000}).code() == expected);
      RANK_CHECK(!reader->enter_pipeline({100, 1, 1}));
      RANK_CHECK(reader->flush(Before::write, {0, 100}).code() == expected);
      RANK_CHECK(reader->sync().code() == expected);
      RANK_CHECK(reader->close().code() == expected);
      RANK_CHECK(quiet->close().code() == expected);
      // A later open of the same file, with the same number, has lost no bytes.
      auto later = open_file(path, 1);
      RANK_CHECK(!later->enter_pipeline({100, 1, 1}) && later->flush(Before::read).ok());
      RANK_CHECK(later->flush(Before::write, {0, 100}).ok() && later->sync().ok() && later->close().ok());
      return 0;
    }),
              0);
  }
}

TEST(ClientFault, AnAgentThatMakesNoProgressRunsIntoTheBound) {
  if (Job::real_agent()) GTEST_SKIP() << "needs an agent that is stuck";
  Job job("stuck", {"MILLRACED_FAKE=stuck", "MILLRACE_TIMEOUT=300ms"});
  const std::string path = job.path("data");
  create(path);
  EXPECT_EQ(job.wait(job.start([&] {
    auto file = open_file(path);
    RANK_CHECK(write_range(*file, 1, 0, 100, 100) == 0);
    RANK_CHECK(file->flush(Before::read).code() == Code::timeout);
    return 0;
  }),
                     5),
            0);
}

// With this bound, an agent shows progress every 100 ms. With the 500 ms of a long bound, the rank would give
// the agent up.
TEST(ClientFault, AnAgentThatTakesTwiceTheBoundIsWaitedFor) {
  if (Job::real_agent()) GTEST_SKIP() << "needs an agent that answers late";
  Job job("late", {"MILLRACED_FAKE=late", "MILLRACE_TIMEOUT=400ms"});
  const std::string path = job.path("data");
  create(path);
  // On a loaded machine an agent needs longer than this bound to start. The rank that starts it has a long
  // bound, and the agent has the short one.
  const Step started, ended;
  const pid_t starter = job.start([&] {
    ::setenv("MILLRACE_TIMEOUT", "60s", 1);
    RANK_CHECK(process_settings().timeout_ms == 60'000);
    ::setenv("MILLRACE_TIMEOUT", "400ms", 1);
    RANK_CHECK(open_file(job.path("data"))->enter_pipeline({100, 1, 1}));
    started.reach();
    RANK_CHECK(ended.await());
    return 0;
  });
  ASSERT_TRUE(started.await());
  EXPECT_EQ(job.wait(job.start([&] {
    auto file = open_file(path);
    RANK_CHECK(write_range(*file, 1, 0, 100, 100) == 0);
    RANK_CHECK(file->sync().ok() && file->close().ok());
    return 0;
  }),
                     10),
            0);
  ended.reach();
  EXPECT_EQ(job.wait(starter), 0);
}

TEST(ClientFault, WhatAKilledRankPublishedIsWrittenAndNothingIsLeft) {
  const auto before = files_of("/dev/shm");
  Job job("rank-killed");
  const std::string path = job.path("data");
  create(path);
  int told[2];
  ASSERT_EQ(::pipe(told), 0);
  const pid_t rank = job.start([&] {
    auto file = open_file(path);
    RANK_CHECK(write_range(*file, 5, 0, 100'000, 500) == 0);
    RANK_CHECK(::write(told[1], "x", 1) == 1);
    ::pause();
    return 0;
  });
  char done = 0;
  ASSERT_EQ(::read(told[0], &done, 1), 1);
  const pid_t agent = job.agent();
  ASSERT_GT(agent, 0);
  ::kill(rank, SIGKILL);
  EXPECT_EQ(job.wait(rank), -SIGKILL);
  EXPECT_TRUE(job.agent_leaves_within(5));
  EXPECT_TRUE(Job::ends_within(agent, 5));
  EXPECT_EQ(contents(path), pattern(5, 0, 100'000));
  EXPECT_EQ(job.agent(), -1);
  for (const std::string& name : files_of("/dev/shm")) {
    EXPECT_TRUE(before.count(name) > 0 || name.find("millrace") == std::string::npos) << name;
  }
  ::close(told[0]);
  ::close(told[1]);
}

TEST(ClientFault, WithoutAnAgentFilesAreDirectAndSayWhy) {
  Job job("no-agent", {"MILLRACE_STATS=" + (std::filesystem::temp_directory_path() / "x").string()});
  const std::string path = job.path("data");
  const std::string stats = job.path("stats");
  create(path);
  EXPECT_EQ(job.run([&] {
    ::setenv("MILLRACE_AGENT", "/nonexistent/millraced", 1);
    ::setenv("MILLRACE_STATS", stats.c_str(), 1);
    auto file = open_file(path);
    RANK_CHECK(!file->enter_pipeline({100, 1, 1}));
    RANK_CHECK(file->flush(Before::read).ok());
    RANK_CHECK(file->sync().ok());
    RANK_CHECK(file->close().ok());
    return 0;
  }),
            0);
  const auto bytes = contents(stats);
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  EXPECT_NE(text.find("direct: no agent could be started"), std::string::npos) << text;
}

TEST(ClientFault, AnAgentThatGetsSigtermServesItsRanksOn) {
  Job job("sigterm", {"MILLRACED_FAKE=hold"});
  const std::string path = job.path("data");
  create(path);
  const Step written, go;
  const pid_t rank = job.start([&] {
    auto file = open_file(path);
    RANK_CHECK(write_range(*file, 6, 0, 60'000, 500) == 0);
    written.reach();
    RANK_CHECK(go.await());
    RANK_CHECK(write_range(*file, 6, 60'000, 90'000, 500) == 0);
    RANK_CHECK(file->close().ok());
    return 0;
  });
  ASSERT_TRUE(written.await());
  const pid_t agent = job.agent();
  ASSERT_GT(agent, 0);
  ::kill(agent, SIGTERM);
  ASSERT_TRUE(Job::falls_asleep(agent));  // the agent has seen the signal
  go.reach();
  EXPECT_EQ(job.wait(rank), 0);
  EXPECT_EQ(contents(path), pattern(6, 0, 90'000));
  EXPECT_TRUE(Job::ends_within(agent, 5));
}

}  // namespace
}  // namespace millrace::client
