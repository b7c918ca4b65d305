// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/file/other_agents.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "client/file/testing/scripted_process.hpp"
#include "transport/memory.hpp"

namespace millrace::client {
namespace {

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t others_file = 77;
constexpr std::uint64_t lasting = 78;

// Answers the first request of a session.
class AnsweringContact final : public Contact {
 public:
  AnsweringContact(transport::RingHeader& header, Code code) : header_(header), code_(code) {}
  std::uint64_t now_ns() const override { return 1; }
  void wait_while(const std::atomic<std::uint32_t>& word, std::uint32_t, std::uint32_t) override {
    transport::ReplySlot& slot = header_.replies[0];
    if (&word != &slot.done) return;
    slot.code.store(static_cast<std::uint32_t>(code_));
    slot.done.store(transport::reply_slots);
  }
  void pause(std::uint32_t) override {}
  bool hung_up() override { return false; }
  void wake() override {}
  Status send(std::span<const std::byte>, std::initializer_list<int>) override { return {}; }
  bool wait_answer(std::uint32_t) override { return false; }
  Result<std::size_t> receive(std::span<std::byte>) override { return std::size_t{0}; }
  void hang_up() override {}
  void say(const std::string&) override {}

 private:
  transport::RingHeader& header_;
  Code code_;
};

transport::Mapping make_page() {
  const Result<Fd> memory = transport::make_memory("page", sizeof(transport::AgentPage));
  return *transport::map(memory->get(), sizeof(transport::AgentPage));
}

transport::AgentPage& page_in(const transport::Mapping& mapping) {
  return *reinterpret_cast<transport::AgentPage*>(mapping.data());
}

void put_file(transport::AgentPage& page, std::uint64_t of, std::uint32_t kept = 0) {
  page.files[0].number.store(of);
  page.files[0].dirty.store(of != 0 && kept == 0 ? transport::state_dirty : transport::state_clean);
  page.files[0].kept.store(kept);
  page.slots.store(1);
}

// An agent whose answers a test scripts.
class ScriptedAgent final : public OtherAgent {
 public:
  ScriptedAgent() : mapping_(make_page()), view_(page_in(mapping_)) {}

  int process() const override { return 4711; }
  bool lives() const override { return living; }
  const PageView& view() const override { return view_; }
  Result<std::unique_ptr<Session>> ask() override {
    ++asked;
    if (when_asked) when_asked();
    if (!answers) return refusal;
    Result<transport::Producer> producer = transport::Producer::create(64 * KiB);
    transport::Mapping mapping = make_page();
    put_file(page_in(mapping), others_file);
    auto contact = std::make_unique<AnsweringContact>(producer->header(), answer);
    return std::make_unique<Session>(
        SessionParts{*std::move(producer), std::move(mapping), std::move(contact), 1000, true});
  }
  bool end() override {
    ++ended;
    living = living && !ends;
    return ends;
  }
  bool bury() override { return !living && std::exchange(unburied, false); }

  transport::AgentPage& page() { return page_in(mapping_); }

  bool living = true, answers = false, ends = true, unburied = true;
  Code answer = Code::ok;
  Status refusal = Code::timeout;
  std::function<void()> when_asked;
  int asked = 0, ended = 0;

 private:
  transport::Mapping mapping_;
  PageView view_;
};

class Opener final : public testing::ScriptedProcess {
 public:
  explicit Opener(std::shared_ptr<OtherAgent> other) : others_{std::move(other)} {}
  Result<OtherAgents::List> other_agents() override { return others_; }

 private:
  const OtherAgents::List others_;
};

class OneWriter : public ::testing::Test {
 protected:
  OneWriter() : process(other) { put_file(other->page(), others_file); }
  bool settle(bool writes = true) {
    return settle_other_agents(process, *process.other_agents(), "/data", {others_file, lasting}, writes);
  }

  const std::shared_ptr<ScriptedAgent> other = std::make_shared<ScriptedAgent>();
  Opener process;
};

TEST_F(OneWriter, AnAgentWithoutTheFileIsNotAsked) {
  put_file(other->page(), others_file + 1);
  EXPECT_TRUE(settle());
  EXPECT_EQ(other->asked, 0);
  EXPECT_TRUE(process.said.empty());
}

TEST_F(OneWriter, AnAgentWhoseBytesAreAllInTheFileIsNotAsked) {
  other->page().files[0].dirty.store(transport::state_clean);
  EXPECT_TRUE(settle());
  EXPECT_EQ(other->asked, 0);
}

TEST_F(OneWriter, AnAgentThatHasBytesOfOtherNodesOnlyIsAskedAndNotEnded) {
  other->page().files[0].dirty.store(transport::state_clean);
  other->page().files[0].routed.store(transport::routed_everywhere);
  EXPECT_TRUE(settle());
  EXPECT_GT(other->asked, 0);
  EXPECT_EQ(other->ended, 0);
}

TEST_F(OneWriter, AnAgentThatRefusesIsWaitedForUntilItHasWrittenItsBytes) {
  other->refusal = Code::no_memory;
  other->when_asked = [this] {
    if (other->asked == 3) put_file(other->page(), 0);
  };
  EXPECT_TRUE(settle());
  EXPECT_EQ(other->asked, 3);
  EXPECT_EQ(other->ended, 0);
}

TEST_F(OneWriter, AnAgentThatLetsNobodyInAndHasWrittenItsBytesMayKeepThemInAJournalForAReader) {
  put_file(other->page(), others_file, 1);
  for (const Code refusal : {Code::no_memory, Code::timeout}) {
    other->refusal = refusal;
    other->when_asked = [this] { other->page().progress.fetch_add(1); };
    EXPECT_TRUE(settle(false));
    EXPECT_EQ(other->ended, 0);
    EXPECT_TRUE(process.said.empty());
  }
  EXPECT_EQ(other->asked, 2);
  other->refusal = Code::no_memory;
  EXPECT_FALSE(settle(true)) << "a recovery would bring them back over the writer's";
  EXPECT_EQ(other->ended, 0);
}

TEST_F(OneWriter, AnAgentThatCannotForgetItsJournalHoldsOffAWriterAndNoReader) {
  put_file(other->page(), others_file, 1);
  other->answers = true;
  EXPECT_TRUE(settle(false) && settle(true)) << "what it has now in its journal came later";
  EXPECT_TRUE(process.said.empty());
  other->answer = Code::io;
  EXPECT_TRUE(settle(false));
  EXPECT_FALSE(settle(true));
  EXPECT_EQ(other->ended, 0);
  EXPECT_NE(process.said.back().find("not opened"), std::string::npos);
}

TEST_F(OneWriter, AnAgentThatWaitsForItsFileSystemIsNotEnded) {
  other->page().files[0].silent_ms.store(static_cast<std::uint32_t>(process.settings().storage_timeout_ms));
  EXPECT_FALSE(settle());
  EXPECT_EQ(other->ended, 0);
  ASSERT_EQ(process.said.size(), 1u);
  EXPECT_NE(process.said[0].find("its file system does not answer"), std::string::npos);
}

TEST_F(OneWriter, AProcessThatCannotAskDoesNotOpenTheFileAndEndsNobody) {
  other->refusal = Status::from_errno(EMFILE);
  EXPECT_FALSE(settle());
  EXPECT_EQ(other->ended, 0);
  ASSERT_EQ(process.said.size(), 1u);
  EXPECT_NE(process.said[0].find("cannot be asked"), std::string::npos);
}

TEST_F(OneWriter, AnAgentThatAnswersHasWrittenItsBytes) {
  other->answers = true;
  EXPECT_TRUE(settle());
  EXPECT_EQ(other->asked, 1);
  EXPECT_EQ(other->ended, 0);
  EXPECT_TRUE(process.said.empty());
}

TEST_F(OneWriter, ASyncHearsOfBytesThatAnotherJobHasWrittenSinceTheOpen) {
  other->answers = true;
  sync_with_other_agents(process, "/data", others_file, true);
  EXPECT_EQ(other->asked, 1);
  EXPECT_TRUE(process.said.empty());
  sync_with_other_agents(process, "/data", others_file + 1, true);
  EXPECT_EQ(other->asked, 1) << "it has another file";
  other->answers = false;
  sync_with_other_agents(process, "/data", others_file, true);
  EXPECT_EQ(other->ended, 0) << "its job may be suspended";
  EXPECT_EQ(process.said.size(), 1u);
}

TEST_F(OneWriter, AFileThatWasMountedAnewIsFound) {
  put_file(other->page(), others_file + 1);
  other->page().files[0].lasting.store(lasting);
  other->answers = true;
  EXPECT_TRUE(settle());
  EXPECT_EQ(other->asked, 1);
}

TEST_F(OneWriter, AnErrorOfItsBytesIsTold) {
  other->answers = true;
  other->answer = Code::no_space;
  EXPECT_TRUE(settle());
  EXPECT_EQ(other->ended, 0);
  ASSERT_EQ(process.said.size(), 1u);
  EXPECT_NE(process.said[0].find("could not write all bytes of its job"), std::string::npos);
}

TEST_F(OneWriter, ASilentAgentIsEndedAfterTheTimeoutAndTheLossIsTold) {
  EXPECT_TRUE(settle());
  EXPECT_GE(process.now_ns(), process.settings().timeout_ms * ms);
  EXPECT_EQ(other->ended, 1);
  ASSERT_EQ(process.said.size(), 1u);
  EXPECT_NE(process.said[0].find("/data: process 4711"), std::string::npos);
  EXPECT_NE(process.said[0].find("may be lost"), std::string::npos);
}

TEST_F(OneWriter, BytesInAJournalAreNotCalledLost) {
  put_file(other->page(), others_file, 1);
  EXPECT_TRUE(settle());
  ASSERT_EQ(process.said.size(), 1u);
  EXPECT_NE(process.said[0].find("are in a journal"), std::string::npos);
}

TEST_F(OneWriter, AnAgentThatMakesProgressIsNotEnded) {
  const std::uint64_t pauses = 3 * process.settings().timeout_ms / 10;
  other->when_asked = [this, pauses] {
    other->page().progress.fetch_add(1);
    if (static_cast<std::uint64_t>(other->asked) == pauses) put_file(other->page(), 0);
  };
  EXPECT_TRUE(settle());
  EXPECT_EQ(other->ended, 0);
  EXPECT_GT(process.now_ns(), 2 * process.settings().timeout_ms * ms);
  EXPECT_TRUE(process.said.empty());
}

TEST_F(OneWriter, TheOpenFailsIfTheAgentStays) {
  other->ends = false;
  EXPECT_FALSE(settle());
  ASSERT_EQ(process.said.size(), 1u);
  EXPECT_NE(process.said[0].find("cannot be ended"), std::string::npos);
}

TEST_F(OneWriter, OneProcessTellsOfADeadAgent) {
  other->living = false;
  EXPECT_TRUE(settle());
  EXPECT_TRUE(settle());
  EXPECT_EQ(other->ended, 0);
  ASSERT_EQ(process.said.size(), 1u);
  EXPECT_NE(process.said[0].find("has died"), std::string::npos);
}

}  // namespace
}  // namespace millrace::client
