// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Tests agents that do not start, and names that strangers have taken. Every rank goes on without an agent,
// within a bound.
#include "client/start/start.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "client/open/testing/ranks.hpp"
#include "transport/socket.hpp"

namespace millrace::client {
namespace {

using testing::contents;
using testing::create;
using testing::Job;
using testing::open_file;
using testing::text_of;

// Runs a rank that finds no agent and leaves a small write to the MPI library. Returns the rank's stderr.
std::string told_by_a_rank_of(Job& job, const std::string& agent = {}) {
  const std::string path = job.path("data"), told = job.path("told");
  create(path);
  EXPECT_EQ(job.run([&] {
    if (!agent.empty()) ::setenv("MILLRACE_AGENT", agent.c_str(), 1);
    const Fd err(::open(told.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600));
    ::dup2(err.get(), STDERR_FILENO);
    auto file = open_file(path);
    RANK_CHECK(!file->enter_pipeline({100, 1, 1}));
    RANK_CHECK(agent.empty() || file->flush(Before::write, {0, 100}).ok());
    RANK_CHECK(file->close().ok());
    return 0;
  }),
            0);
  return text_of(told);
}

// Makes a program that notes each of its starts in the file `starts`.
std::string make_program(const Job& job, const std::string& body) {
  std::string path = job.path("program");
  std::ofstream(path) << "#!/bin/sh\necho started >> " << job.path("starts") << "\n" << body << "\n";
  ::chmod(path.c_str(), 0700);
  return path;
}

std::ptrdiff_t starts_of(const Job& job) { return std::ranges::count(text_of(job.path("starts")), '\n'); }

TEST(Start, AProgramThatIsNoAgentIsStartedThreeTimes) {
  Job job("no-agent");
  const std::string program = make_program(job, "exit 7");
  const std::string told = told_by_a_rank_of(job, program);
  EXPECT_EQ(starts_of(job), 3);
  EXPECT_NE(told.find(program + " ended without an answer, 3 times"), std::string::npos) << told;
  EXPECT_NE(told.find("install Millrace again"), std::string::npos) << told;
}

TEST(Start, AProgramThatEndsWellAndDoesNotListenIsNoAgentEither) {
  Job job("well");
  const std::string told = told_by_a_rank_of(job, make_program(job, "exit 0"));
  EXPECT_EQ(starts_of(job), 3);
  EXPECT_NE(told.find("ended without an answer, 3 times"), std::string::npos) << told;
}

TEST(Start, AProgramThatDoesNotEndIsEnded) {
  Job job("stays", {"MILLRACE_TIMEOUT=300ms"});
  const std::string told =
      told_by_a_rank_of(job, make_program(job, "echo $$ > " + job.path("pid") + "\nexec sleep 1000"));
  EXPECT_NE(told.find("did not start within 300 ms"), std::string::npos) << told;
  EXPECT_TRUE(Job::ends_within(std::atoi(text_of(job.path("pid")).c_str()), 20));
}

TEST(Start, WhoHasTheNameAndTakesNoConnectionCostsABoundedTime) {
  Job job("squatted", {"MILLRACE_TIMEOUT=300ms"});
  const Result<Fd> squatter = transport::listen_at(job.socket_name());
  ASSERT_EQ(::listen(squatter->get(), 0), 0);
  const Result<Fd> first = transport::connect_to(job.socket_name(), 50);  // fills the queue
  const std::string told = told_by_a_rank_of(job);
  EXPECT_NE(told.find("takes no connection"), std::string::npos) << told;
}

TEST(Start, WhoHasTheNameAndDoesNotAnswerCostsABoundedTime) {
  Job job("silent", {"MILLRACE_TIMEOUT=300ms"});
  const Result<Fd> squatter = transport::listen_at(job.socket_name());
  const std::string told = told_by_a_rank_of(job);
  EXPECT_NE(told.find("did not answer"), std::string::npos) << told;
}

TEST(Start, WhoHasTheNameAndDoesNotListenCostsABoundedTime) {
  Job job("bound", {"MILLRACE_TIMEOUT=300ms"});
  const Fd squatter(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  const std::string text = job.socket_name();
  std::copy(text.begin(), text.end(), name.sun_path + 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  ASSERT_EQ(::bind(squatter.get(), reinterpret_cast<const sockaddr*>(&name), size), 0);
  const std::string told = told_by_a_rank_of(job);
  EXPECT_NE(told.find("another process has the name of this job's agent"), std::string::npos) << told;
}

TEST(Start, AnotherUsersListenerIsRefusedAtOnce) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  Job job("stranger");
  ASSERT_EQ(::seteuid(12345), 0);
  const Result<Fd> squatter = transport::listen_at(job.socket_name());
  ASSERT_EQ(::seteuid(0), 0);
  ASSERT_TRUE(squatter.ok());
  const std::string told = told_by_a_rank_of(job);
  EXPECT_NE(told.find("another user's process has the name"), std::string::npos) << told;
}

TEST(Start, AtNoMomentIsTheNameFreeForAStrangerWhileAnAgentStarts) {
  Job job("handed");
  const std::string path = job.path("data");
  create(path);
  const std::string program =
      make_program(job, "grep -q '" + job.socket_name() + "' /proc/net/unix && echo listens >> " +
                            job.path("listens") + "\nexit 1");
  (void)told_by_a_rank_of(job, program);
  EXPECT_EQ(std::ranges::count(text_of(job.path("listens")), '\n'), 3)
      << "the listener is there before the program";
}

// The pages of the file that are in memory.
std::size_t resident_pages(const std::string& path, std::size_t bytes) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  void* const mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.get(), 0);
  std::vector<unsigned char> pages((bytes + 4095) / 4096);
  EXPECT_EQ(::mincore(mapped, bytes, pages.data()), 0);
  ::munmap(mapped, bytes);
  return static_cast<std::size_t>(
      std::ranges::count_if(pages, [](unsigned char one) { return (one & 1) != 0; }));
}

TEST(Start, TheAgentsProgramIsInMemoryBeforeAnAgentStarts) {
  constexpr std::size_t bytes = 1 << 20;
  const Job job("ahead");
  Settings settings;
  settings.agent_program = job.path("program");
  {
    const Fd file(::open(settings.agent_program.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0700));
    const std::string body(bytes, 'x');
    ASSERT_EQ(::write(file.get(), body.data(), bytes), static_cast<ssize_t>(bytes));
    ASSERT_EQ(::fsync(file.get()), 0);
    ASSERT_EQ(::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED), 0);
  }
  if (resident_pages(settings.agent_program, bytes) > 0)
    GTEST_SKIP() << "this file system keeps its files in memory";
  read_agent_ahead(settings);
  for (int i = 0; i < 5000 && resident_pages(settings.agent_program, bytes) == 0; ++i) pause_ms(1);
  EXPECT_GT(resident_pages(settings.agent_program, bytes), 0u);
  settings.agent_program = job.path("none");
  read_agent_ahead(settings);  // nothing to read: nothing happens
}

}  // namespace
}  // namespace millrace::client
