// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Ranks and an agent as real processes: what happens when one of them dies or misbehaves.
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

#include "client/testing/ranks.hpp"
#include "transport/channel.hpp"
#include "transport/socket.hpp"

namespace millrace::client {
namespace {

using testing::contents;
using testing::create;
using testing::Job;
using testing::open_file;
using testing::pattern;
using testing::Step;
using testing::write_range;

template <class Condition>
bool eventually(Condition&& holds) {
  for (int i = 0; i < 500 && !holds(); ++i) ::usleep(10'000);
  return holds();
}

TEST(ClientFault, AKilledAgentIsSeenWithinTwoSeconds) {
  if (Job::real_agent()) GTEST_SKIP() << "needs an agent that is stuck";
  Job job("agent-killed", {"MILLRACED_FAKE=stuck", "MILLRACE_CHANNEL=64KiB"});
  const std::string path = job.path("data");
  create(path);
  const Step writing;
  const pid_t rank = job.start([&] {
    auto file = open_file(path);
    const std::vector<std::byte> data(4096);
    Status status;
    while (status.ok()) {
      RANK_CHECK(file->takes_pipeline({data.size(), 1, 1}));
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

// The first rank has all in the file when its agent dies. The second one, which has not met that agent,
// starts another one. `first` goes on then; `second` writes first, and closes when the first one has ended.
void with_a_second_agent(Job& job, const std::string& path, const std::function<int(File&)>& first,
                         const std::function<int(File&)>& second) {
  create(path);
  const Step flushed, killed, wrote, ended;
  const pid_t one = job.start([&] {
    auto file = open_file(path, 2);
    RANK_CHECK(write_range(*file, 1, 0, 1000, 100) == 0);
    RANK_CHECK(file->flush(everything).ok());
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
          RANK_CHECK((writes ? file.prepare_direct_write({0, 500}) : file.flush({0, 500})).ok());
          RANK_CHECK(contents(path) == pattern(2, 0, 1000));
          return 0;
        },
        [](File& file) { return write_range(file, 2, 0, 1000, 100); });
    EXPECT_EQ(contents(path), pattern(2, 0, 1000));
  }
}

// Its bytes are in the file, and in the ledger too.
TEST(ClientFault, ASecondAgentBringsTheLedgerOfTheFirstToTheFileBeforeItWrites) {
  if (!Job::real_agent()) GTEST_SKIP() << "needs an agent that keeps ledgers";
  Job job("second-ledger", {"MILLRACE_DURABILITY=node"});
  const std::string path = job.path("data"), journals = job.path("journals");
  ASSERT_EQ(::mkdir(journals.c_str(), 0700), 0);
  ::setenv("MILLRACE_JOURNAL_DIRECTORY", journals.c_str(), 1);
  with_a_second_agent(
      job, path, [](File&) { return 0; }, [](File& file) { return write_range(file, 2, 0, 1000, 100); });
  ::unsetenv("MILLRACE_JOURNAL_DIRECTORY");
  const std::string agent = std::getenv("TEST_AGENT");
  const std::string recover = agent.substr(0, agent.rfind('/') + 1) + "millrace-recover --dir " + journals;
  EXPECT_EQ(std::system(recover.c_str()), 0);
  EXPECT_EQ(contents(path), pattern(2, 0, 1000));
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
      if (flushed) RANK_CHECK(writer->flush(everything).ok());
      const pid_t agent = job.agent();
      RANK_CHECK(agent > 0 && ::kill(agent, SIGKILL) == 0 && Job::ends_within(agent, 2));
      for (int i = 0; i < 2; ++i) RANK_CHECK(reader->flush({0, 1000}).code() == expected);
      RANK_CHECK(!reader->takes_pipeline({100, 1, 1}));
      RANK_CHECK(reader->prepare_direct_write({0, 100}).code() == expected);
      RANK_CHECK(reader->sync().code() == expected);
      RANK_CHECK(reader->close().code() == expected);
      RANK_CHECK(quiet->close().code() == expected);
      // The same file, and with it its number: nothing of this open was lost.
      auto later = open_file(path, 1);
      RANK_CHECK(!later->takes_pipeline({100, 1, 1}) && later->flush(everything).ok());
      RANK_CHECK(later->prepare_direct_write({0, 100}).ok() && later->sync().ok() && later->close().ok());
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
    RANK_CHECK(file->flush(everything).code() == Code::timeout);
    return 0;
  }),
                     5),
            0);
}

std::set<std::string> files_of(const char* folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.insert(entry.path());
  return names;
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
    RANK_CHECK(!file->takes_pipeline({100, 1, 1}));
    RANK_CHECK(file->flush(everything).ok());
    RANK_CHECK(file->sync().ok());
    RANK_CHECK(file->close().ok());
    return 0;
  }),
            0);
  const auto bytes = contents(stats);
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  EXPECT_NE(text.find("direct: the agent's program, millraced, was not found"), std::string::npos) << text;
}

// A raw client: greets the agent of `job` as Session does, but keeps the ring for the test to spoil.
struct RawClient {
  Fd socket;
  transport::Producer producer;
};

Result<RawClient> raw_client(const Job& job) {
  Result<Fd> socket = transport::connect_to(job.socket_name());
  if (!socket) return socket.status();
  Result<transport::Producer> producer = transport::Producer::create(64 * KiB);
  transport::Hello hello{transport::protocol_version, static_cast<std::uint32_t>(::getpid()), 0, 64 * KiB};
  if (Status s = transport::send(socket->get(), hello, {producer->memory()}); !s.ok()) return s;
  transport::Welcome welcome{};
  if (!transport::receive_message(socket->get(), &welcome, sizeof welcome).ok()) return Code::io;
  return RawClient{*std::move(socket), *std::move(producer)};
}

bool dropped(const RawClient& client) {
  for (int i = 0; i < 200; ++i) {
    if (transport::hung_up(client.socket.get())) return true;
    ::usleep(10'000);
  }
  return false;
}

TEST(ClientFault, GarbageInOneRingHarmsNobodyElse) {
  Job job("garbage");
  const std::string path = job.path("data");
  create(path);
  const Step written, go;
  const pid_t rank = job.start([&] {
    auto file = open_file(path);
    RANK_CHECK(write_range(*file, 4, 0, 100'000, 500) == 0);
    written.reach();
    RANK_CHECK(go.await());
    RANK_CHECK(write_range(*file, 4, 100'000, 400'000, 500) == 0);
    RANK_CHECK(file->close().ok());
    return 0;
  });
  ASSERT_TRUE(written.await());
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    Result<RawClient> client = raw_client(job);
    ASSERT_TRUE(client.ok()) << client.status().describe();
    Result<transport::Mapping> memory =
        transport::map(client->producer.memory(), transport::header_bytes + 64 * KiB);
    ASSERT_TRUE(memory.ok());
    for (std::uint64_t i = 0; i < 64 * KiB; ++i) {
      memory->data()[transport::header_bytes + i] = static_cast<std::byte>(random());
    }
    auto& header = client->producer.header();
    header.tail = round % 4 == 0 ? UINT64_MAX - 5 : 8 * (1 + random() % (8 * KiB));
    header.requests = 1;
    // Wakes the agent like any arrival does.
    const Result<Fd> another = transport::connect_to(job.socket_name());
    EXPECT_TRUE(dropped(*client)) << round;
  }
  go.reach();
  EXPECT_EQ(job.wait(rank), 0);
  EXPECT_EQ(contents(path), pattern(4, 0, 400'000));
}

TEST(ClientFault, MessagesOfWrongSizeOrVersionAreRefused) {
  Job job("greeting");
  const std::string path = job.path("data");
  create(path);
  const Step written, go;
  const pid_t rank = job.start([&] {
    auto file = open_file(path);
    RANK_CHECK(write_range(*file, 4, 0, 1000, 500) == 0);
    written.reach();
    RANK_CHECK(go.await());
    RANK_CHECK(file->close().ok());
    return 0;
  });
  ASSERT_TRUE(written.await());
  Result<Fd> odd = transport::connect_to(job.socket_name());
  ASSERT_TRUE(odd.ok());
  ASSERT_TRUE(transport::send(odd->get(), std::uint64_t{1}).ok());
  Result<Fd> old = transport::connect_to(job.socket_name());
  transport::Hello hello{transport::protocol_version + 1, 1, 0, 64 * KiB};
  Result<transport::Producer> producer = transport::Producer::create(64 * KiB);
  ASSERT_TRUE(transport::send(old->get(), hello, {producer->memory()}).ok());
  transport::Welcome welcome{};
  Result<transport::Received> answer = transport::receive_message(old->get(), &welcome, sizeof welcome);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(welcome.status.code(), Code::unsupported);
  go.reach();
  EXPECT_EQ(job.wait(rank), 0);
}

// Registers `target` under a path, writes 100 bytes at 0 and closes.
Status write_as(RawClient& client, const std::string& path, int target) {
  transport::Register registration{};
  registration.settings = FileSettings{};
  std::memcpy(registration.path, path.data(), std::min(path.size(), sizeof registration.path));
  if (Status s = transport::send(client.socket.get(), registration, {target}); !s.ok()) return s;
  transport::Registered answer{};
  if (!transport::wait_readable(client.socket.get(), 5'000)) return Code::timeout;
  if (!transport::receive_message(client.socket.get(), &answer, sizeof answer).ok()) return Code::lost_agent;
  if (!answer.status.ok()) return answer.status;
  const std::vector<std::byte> data = pattern(1, 0, 100);
  transport::FrameHeader frame{};
  frame.kind = transport::Kind::write;
  frame.file = answer.file;
  frame.length = 100;
  client.producer.append(frame, data.data());
  client.producer.publish();
  client.socket.reset();  // as a rank that dies: what it published is written
  return {};
}

TEST(ClientFault, APathIsForReportsAndOpensNothing) {
  Job job("paths");
  create(job.path("victim"));
  const auto before = files_of(job.path("").c_str());
  const Step go;
  const pid_t rank = job.start([&] {  // its agent
    auto file = open_file(job.path("victim"));
    RANK_CHECK(file->takes_pipeline({1, 1, 1}));
    RANK_CHECK(go.await());
    RANK_CHECK(file->close().ok());
    return 0;
  });
  ASSERT_TRUE(eventually([&] { return job.agent() > 0; }));
  const std::string places[] = {
      job.path("victim"),        job.path("made"),       "../../../../../../tmp/millrace-made",
      job.path("./x/../victim"), std::string(4096, 'a'), ""};
  for (const std::string& path : places) {
    const std::string target = job.path("target");
    create(target);
    const Fd file(::open(target.c_str(), O_RDWR));
    Result<RawClient> client = raw_client(job);
    ASSERT_TRUE(client.ok()) << client.status().describe();
    EXPECT_TRUE(write_as(*client, path, file.get()).ok()) << path;
    EXPECT_TRUE(eventually([&] { return contents(target) == pattern(1, 0, 100); })) << path;
    ::unlink(target.c_str());
  }
  const Fd read_only(::open(job.path("victim").c_str(), O_RDONLY));
  const Fd folder(::open(job.path("").c_str(), O_RDONLY | O_DIRECTORY));
  for (const int target : {read_only.get(), folder.get()}) {
    Result<RawClient> client = raw_client(job);
    ASSERT_TRUE(client.ok()) << client.status().describe();
    (void)write_as(*client, job.path("victim"), target);
  }
  go.reach();
  EXPECT_EQ(job.wait(rank), 0);
  EXPECT_TRUE(contents(job.path("victim")).empty());
  EXPECT_EQ(files_of(job.path("").c_str()), before);
  EXPECT_FALSE(std::filesystem::exists("/tmp/millrace-made"));
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
  ASSERT_TRUE(Job::falls_asleep(agent));  // it has seen the signal
  go.reach();
  EXPECT_EQ(job.wait(rank), 0);
  EXPECT_EQ(contents(path), pattern(6, 0, 90'000));
  EXPECT_TRUE(Job::ends_within(agent, 5));
}

}  // namespace
}  // namespace millrace::client
