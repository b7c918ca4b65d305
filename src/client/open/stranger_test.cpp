// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Tests messages to an agent that no rank would send.
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

// A raw client: greets the agent of `job` as Session does, but keeps the ring for the test to spoil.
struct RawClient {
  Fd socket;
  transport::Producer producer;
};

Result<RawClient> raw_client(const Job& job) {
  Result<Fd> socket = transport::connect_to(job.socket_name());
  if (!socket) return socket.status();
  Result<transport::Producer> producer = transport::Producer::create(64 * KiB);
  transport::Hello hello{
      transport::protocol_version, static_cast<std::uint32_t>(::getpid()), 0, 64 * KiB, {}, {}};
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
    // The new connection wakes the agent.
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
  transport::Hello hello{transport::protocol_version + 1, 1, 0, 64 * KiB, {}, {}};
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
  client.socket.reset();  // as if the rank died: the agent writes the published records
  return {};
}

TEST(ClientFault, APathIsForReportsAndOpensNothing) {
  Job job("paths");
  create(job.path("victim"));
  const auto before = files_of(job.path("").c_str());
  const Step go;
  const pid_t rank = job.start([&] {  // starts the agent
    auto file = open_file(job.path("victim"));
    RANK_CHECK(file->enter_pipeline({1, 1, 1}));
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

}  // namespace
}  // namespace millrace::client
