// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Tests a process as its agent sees it: its job, its children, its end.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "client/open/testing/ranks.hpp"
#include "client/start/job.hpp"

namespace millrace::client {
namespace {

using testing::contents;
using testing::create;
using testing::Job;
using testing::open_file;
using testing::pattern;
using testing::Step;
using testing::write_range;

TEST(Client, TwoJobsHaveTwoAgents) {
  Job one("one"), two("two");
  const Step written[2], go;
  const auto body = [&](Job& job, unsigned seed) {
    const std::string path = job.path("data");
    create(path);
    return job.start([&, path, seed] {
      auto file = open_file(path);
      RANK_CHECK(write_range(*file, seed, 0, 200'000, 1000) == 0);
      written[seed - 1].reach();
      RANK_CHECK(go.await());
      RANK_CHECK(file->close().ok());
      return 0;
    });
  };
  const pid_t first = body(one, 1), second = body(two, 2);
  ASSERT_TRUE(written[0].await() && written[1].await());
  EXPECT_GT(one.agent(), 0);
  EXPECT_GT(two.agent(), 0);
  EXPECT_NE(one.agent(), two.agent());
  go.reach();
  EXPECT_EQ(one.wait(first), 0);
  EXPECT_EQ(two.wait(second), 0);
  EXPECT_EQ(contents(one.path("data")), pattern(1, 0, 200'000));
  EXPECT_EQ(contents(two.path("data")), pattern(2, 0, 200'000));
}

TEST(Client, AChildOfForkLeavesTheParentsRingAlone) {
  Job job("fork");
  const std::string path = job.path("data");
  create(path);
  EXPECT_EQ(job.run([&] {
    auto file = open_file(path);
    RANK_CHECK(write_range(*file, 9, 0, 50'000, 500) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const bool taken = file->enter_pipeline({10, 1, 1});
      const bool quiet = file->flush(Before::read).ok() && file->close().ok();
      finalize();
      ::_exit(taken || !quiet ? 1 : 0);
    }
    int status = -1;
    RANK_CHECK(::waitpid(child, &status, 0) == child);
    RANK_CHECK(status == 0);
    RANK_CHECK(write_range(*file, 9, 50'000, 100'000, 500) == 0);
    RANK_CHECK(file->close().ok());
    return 0;
  }),
            0);
  EXPECT_EQ(contents(path), pattern(9, 0, 100'000));
}

TEST(Client, WhatTheProgramLeftOpenIsWrittenAtTheEnd) {
  Job job("left-open");
  const std::string path = job.path("data");
  create(path);
  EXPECT_EQ(job.run([&] {
    File* file = open_file(path).release();
    RANK_CHECK(write_range(*file, 2, 0, 30'000, 500) == 0);
    return 0;  // finalize() follows
  }),
            0);
  EXPECT_EQ(contents(path), pattern(2, 0, 30'000));
}

TEST(Client, AnExitHandlerWritesAndExitWaitsForWhatIsLeftOpen) {
  Job job("left-at-exit");
  const std::string path = job.path("data");
  create(path);
  EXPECT_EQ(job.run([&] {
    static File* file = nullptr;
    std::atexit([] {
      if (write_range(*file, 2, 30'000, 60'000, 500) != 0) ::_exit(1);
    });
    file = open_file(path).release();
    RANK_CHECK(write_range(*file, 2, 0, 30'000, 500) == 0);
    std::exit(0);
    return 1;
  }),
            0);
  EXPECT_EQ(contents(path), pattern(2, 0, 60'000));
}

TEST(Client, OnlyRegularFilesAreAccelerated) {
  Job job("device");
  EXPECT_EQ(job.run([&] {
    auto file = open_file("/dev/null");
    RANK_CHECK(!file->enter_pipeline({100, 1, 1}));
    RANK_CHECK(file->close().ok());
    return 0;
  }),
            0);
}

// A program on one node needs no look at a file system. All else may have ranks on other nodes.
TEST(NodesOfAProgram, TheLauncherSaysWhetherAllRanksAreHere) {
  ::unsetenv("MPI_LOCALNRANKS");
  EXPECT_FALSE(may_span_nodes(1));
  EXPECT_TRUE(may_span_nodes(2)) << "the launcher does not tell";
  ::setenv("MPI_LOCALRANKID", "1", 1);
  ::setenv("MPI_LOCALNRANKS", "2", 1);
  EXPECT_FALSE(may_span_nodes(2));
  EXPECT_TRUE(may_span_nodes(3));
  EXPECT_FALSE(is_first_of_node());
  ::unsetenv("MPI_LOCALRANKID");
  ::unsetenv("MPI_LOCALNRANKS");
  EXPECT_TRUE(is_first_of_node()) << "the launcher does not tell: this rank speaks";
}

}  // namespace
}  // namespace millrace::client
