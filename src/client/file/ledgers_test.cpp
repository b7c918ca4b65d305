// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Tests the ledgers that an open waits for, recovers, or passes over.
#include "client/file/ledgers.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>

#include "base/testing/limit.hpp"
#include "client/file/testing/scripted_process.hpp"
#include "client/session/testing/null_agent.hpp"
#include "client/session/testing/silent_contact.hpp"
#include "io/posix/identity.hpp"
#include "journal/folder.hpp"

namespace millrace::client {
namespace {

namespace fs = std::filesystem;
constexpr std::uint64_t second = 1'000'000'000;

// The test scripts its recoveries.
class Scripted final : public testing::ScriptedProcess {
 public:
  explicit Scripted(const std::string& directory) {
    settings_.journal_directory = directory;
    now_ns_ = second;
  }

  Session* session(bool, Reason&) override { return agent.get(); }
  Result<FileIdentity> identify(const Fd& file) override { return io::identify(file, false); }
  Result<FileIdentity> identify(const std::string& path) override {
    return identity ? *identity : io::identify(path);
  }
  Result<std::size_t> read_start(const Fd& journal, std::span<std::byte> into) override {
    if (unreadable) return Code::io;
    return journal::read_start(journal, into);
  }
  bool recover(const std::string&, const std::string&) override {
    return ++recoveries, recovery && recovery();
  }

  std::function<bool()> recovery;
  int recoveries = 0;
  bool unreadable = false;               // the disk of the journals answers every read with an error
  std::optional<FileIdentity> identity;  // if set, every file has this identity
  std::unique_ptr<Session> agent;        // the session with the agent, if there is one
};

class Ledgers : public ::testing::Test {
 protected:
  Ledgers()
      : root_(::testing::TempDir() + "millrace-ledgers-" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name()),
        target(root_ + "/data"),
        process((fs::create_directory(root_), root_)) {
    std::ofstream(target) << "data";
    std::ofstream(root_ + "/other") << "data";
  }
  ~Ledgers() override { fs::remove_all(root_); }

  io::Owned ledger(const std::string& name = "data") const {
    return ledger(*io::identify(root_ + "/" + name));
  }
  // `agent`: the number of the page of the agent that holds it.
  io::Owned ledger(const FileIdentity& of, std::uint64_t agent = 0) const {
    auto made = io::create_owned(root_, journal::suffix);
    EXPECT_TRUE(made.ok());
    journal::Start start = journal::start_of({journal::LogKind::ledger, of, 0, target});
    start.sector.agent = agent;
    start.sector = journal::sealed(start.sector, start.header.checksum);
    EXPECT_TRUE(io::write_durably(made->file, 0, std::as_bytes(std::span(&start, 1))).ok());
    return *std::move(made);
  }
  // Makes an agent that has bytes of the target until a flush asks for them. `routed` is that of
  // transport::SharedFileState.
  void run_agent(std::function<void()> goes, std::uint32_t routed = 0) {
    Result<Fd> memory = transport::make_memory("page", sizeof(transport::AgentPage));
    Result<transport::Mapping> mapping = transport::map(memory->get(), sizeof(transport::AgentPage));
    auto& page = *reinterpret_cast<transport::AgentPage*>(mapping->data());
    struct stat about {};
    ASSERT_EQ(::stat(target.c_str(), &about), 0);
    page.files[0].number.store(transport::file_number(about.st_dev, about.st_ino));
    page.files[0].dirty.store(transport::state_dirty);
    page.files[0].routed.store(routed);
    page.files[0].fresh.store(UINT64_MAX);
    page.slots.store(1);
    page.openings.store(1);
    process.agent = std::make_unique<Session>(SessionParts{
        *transport::Producer::create(64 * KiB), *std::move(mapping),
        std::make_unique<testing::SilentContact>([goes = std::move(goes)] { return goes(), true; }), 1000,
        true, root_});
  }
  std::string of_a_dead_agent() const { return ledger().path; }
  void settle(bool writes) { settled = settle_ledgers(target.c_str(), writes, process); }
  static bool passed_over(const std::string& path) {
    return journal::look_at(path)->start.sector.passed_over != 0;
  }
  // Marks the ledger as its agent does before it writes the records to the file.
  static void drain(const io::Owned& ledger) {
    journal::Start start = journal::look_at(ledger.path)->start;
    journal::set_state(ledger.file, start, journal::LogState::draining);
  }
  static void show_progress(const io::Owned& ledger) {
    journal::Start start = journal::look_at(ledger.path)->start;
    journal::show_progress(ledger.file, start);
  }

  std::string root_, target;
  Scripted process;
  bool settled = true;
};

TEST_F(Ledgers, ADeadAgentsIsRecovered) {
  const std::string path = of_a_dead_agent();
  process.recovery = [&] { return fs::remove(path); };
  settle(true);
  EXPECT_EQ(process.recoveries, 1);
  EXPECT_TRUE(process.said.empty());
}

TEST_F(Ledgers, OfAnotherFileIsLeftAlone) {
  const std::string path = ledger("other").path;
  settle(true);
  EXPECT_EQ(process.recoveries, 0);
  EXPECT_FALSE(passed_over(path));
}

TEST_F(Ledgers, OfAnEarlierFileWithThatNumberIsLeftAlone) {
  const std::string path = ledger(FileIdentity{7, 8, 100}).path;
  process.identity = FileIdentity{7, 8, 200};
  settle(true);
  EXPECT_EQ(process.recoveries, 0);
  EXPECT_FALSE(passed_over(path));
  EXPECT_TRUE(process.said.empty());
}

TEST_F(Ledgers, WhatMayBeOfAnotherFileIsLeftToRecoveryAndPassedOver) {
  const std::string path = ledger(FileIdentity{7, 8}).path;
  process.identity = FileIdentity{7, 8, 200};
  process.recovery = [] { return true; };  // recovery refuses a file that it cannot identify
  settle(true);
  EXPECT_EQ(process.recoveries, 1);
  EXPECT_TRUE(passed_over(path));
  ASSERT_EQ(process.said.size(), 1U);
}

TEST_F(Ledgers, AfterARecoveryThatWasKilledAnotherOneComes) {
  const std::string path = of_a_dead_agent();
  process.recovery = [&] { return process.recoveries > 1 && fs::remove(path); };
  settle(true);
  EXPECT_EQ(process.recoveries, 2);
  EXPECT_TRUE(process.said.empty());
}

TEST_F(Ledgers, OneThatIsDoneIsNotToldOf) {
  const std::string path = of_a_dead_agent();
  const io::Owned log{*io::open_owned(path), path, 0};
  journal::Start start = journal::look_at(path)->start;
  journal::set_state(log.file, start, journal::LogState::done);
  settle(true);
  EXPECT_TRUE(settled);
  EXPECT_TRUE(process.said.empty());
  EXPECT_FALSE(passed_over(path));
}

TEST_F(Ledgers, WhoReadsIsToldOfWhatCannotBeRecovered) {
  const std::string path = of_a_dead_agent();
  process.recovery = [] { return true; };
  settle(false);
  EXPECT_EQ(process.recoveries, 1) << "it has said why: it would again";
  ASSERT_EQ(process.said.size(), 1U);
  EXPECT_NE(process.said[0].find("to finish the file"), std::string::npos) << process.said[0];
  EXPECT_FALSE(passed_over(path));
  settle(false);
  EXPECT_EQ(process.recoveries, 2) << "by now it may be possible";
}

TEST_F(Ledgers, WhoWritesGoesOnWithoutItForGood) {
  const std::string path = of_a_dead_agent();
  process.recovery = [] { return true; };
  settle(true);
  ASSERT_EQ(process.said.size(), 1U);
  EXPECT_NE(process.said[0].find("--force"), std::string::npos) << process.said[0];
  EXPECT_TRUE(passed_over(path));
  settle(true);
  EXPECT_EQ(process.recoveries, 1) << "nobody brings it back by itself";
  EXPECT_EQ(process.said.size(), 1U);
}

TEST_F(Ledgers, OneThatTakesNoMarkKeepsAnOpenFromWriting) {
  const std::string path = of_a_dead_agent();
  process.recovery = [] { return true; };
  ASSERT_NE(::signal(SIGXFSZ, SIG_IGN), SIG_ERR);
  const Limit small_files(RLIMIT_FSIZE, 1);
  settle(true);
  EXPECT_FALSE(settled);
  EXPECT_FALSE(passed_over(path));
  ASSERT_EQ(process.said.size(), 1U);
  EXPECT_NE(process.said[0].find(path + ", which cannot be marked"), std::string::npos) << process.said[0];
  EXPECT_EQ(process.said[0].find("--force"), std::string::npos) << "there is no mark";
  settle(false);
  EXPECT_TRUE(settled) << "an open for reading has told its user";
}

TEST_F(Ledgers, OneThatItsAgentCannotTakeBackKeepsAnOpenFromWriting) {
  const io::Owned living = ledger();
  for (const bool draining : {false, true}) {
    if (draining) drain(living);
    run_agent([] {});
    process.agent->view().page().stuck[3].store(transport::any_file);
    settle(true);
    EXPECT_FALSE(settled);
    ASSERT_FALSE(process.said.empty());
    EXPECT_NE(process.said.back().find("cannot remove it, because the disk"), std::string::npos)
        << process.said.back();
    settle(false);
    EXPECT_TRUE(settled) << "the file has all bytes";
  }
  EXPECT_LT(process.now_ns(), 2 * second);
}

TEST_F(Ledgers, WhoCannotLookForThemOpensNothing) {
  (void)of_a_dead_agent();
  for (const bool writes : {false, true}) {
    process.said.clear();
    std::optional<Limit> no_more_files(std::in_place, RLIMIT_NOFILE, 3);
    settle(writes);
    no_more_files.reset();
    EXPECT_FALSE(settled);
    EXPECT_EQ(process.recoveries, 0);
    ASSERT_EQ(process.said.size(), 1U);
    EXPECT_NE(process.said[0].find("cannot look for journals in " + root_), std::string::npos);
    EXPECT_NE(process.said[0].find("Too many open files"), std::string::npos) << process.said[0];
  }
}

TEST_F(Ledgers, OneThatCannotBeReadMayBeOfTheFile) {
  const std::string path = of_a_dead_agent();
  process.unreadable = true;
  settle(true);
  EXPECT_FALSE(settled);
  EXPECT_EQ(process.said.size(), 1U);
}

TEST_F(Ledgers, OneThatDrainsIsWaitedForAsLongAsItGetsOn) {
  io::Owned living = ledger();
  drain(living);
  int waits = 0;
  process.while_waiting = [&] {
    if (++waits % 1000 == 0) show_progress(living);
    if (waits == 20'000) (void)io::remove_owned(living.path);
  };
  settle(true);
  EXPECT_EQ(waits, 20'000);
  EXPECT_GT(process.now_ns(), 300 * second);
  EXPECT_TRUE(process.said.empty());
}

TEST_F(Ledgers, OneThatDoesNotGetOnIsNotWaitedForLongerThanItsAgentMayWait) {
  const io::Owned living = ledger();
  drain(living);
  settle(true);
  ASSERT_EQ(process.said.size(), 1U);
  EXPECT_NE(process.said[0].find("without progress for 120 s"), std::string::npos) << process.said[0];
  EXPECT_GE(process.now_ns(), 120 * second);
  EXPECT_LT(process.now_ns(), 130 * second);
  EXPECT_FALSE(passed_over(living.path)) << "its agent will still bring it";
  EXPECT_FALSE(settled) << "so an open for writing fails";
  settle(false);
  EXPECT_TRUE(settled) << "an open for reading has told its user";
}

TEST_F(Ledgers, WhileARecoveryWorksItIsWaitedForAsLongAsItGetsOn) {
  for (const bool locked : {false, true}) {  // or it is at other ledgers
    io::Owned own = ledger();
    if (!locked) own.file = Fd();
    io::Owned other = ledger("other");
    std::optional<Fd> recovery = *io::lock_folder(root_);
    int waits = 0;
    process.while_waiting = [&] {
      if (++waits % 1000 == 0) show_progress(other);
      if (waits == 20'000) fs::remove(own.path), recovery.reset();
    };
    settle(!locked);
    EXPECT_EQ(waits, 20'000);
    EXPECT_EQ(process.recoveries, 0);
    EXPECT_TRUE(settled && process.said.empty());
  }
}

TEST_F(Ledgers, ARecoveryThatHangsElsewhereNeverComesToTheOnePassedOver) {
  const std::string path = of_a_dead_agent();
  const Fd recovery = *io::lock_folder(root_);
  settle(true);
  EXPECT_TRUE(settled);
  EXPECT_TRUE(passed_over(path));
  EXPECT_GE(process.now_ns(), 120 * second);
}

TEST_F(Ledgers, WhatARecoveryHoldsCannotBePassedOverAndTheOpenFails) {
  io::Owned held = ledger();  // as a recovery has it between its lock and its mark
  const Fd recovery = *io::lock_folder(root_);
  drain(held);
  settle(true);
  EXPECT_FALSE(settled);
  EXPECT_FALSE(passed_over(held.path));
}

TEST_F(Ledgers, OfAnAgentThatDiesWhileItIsAskedIsRecovered) {
  io::Owned living = ledger();
  run_agent([&] { living.file.reset(); });
  process.recovery = [&] { return fs::remove(living.path); };
  settle(true);
  EXPECT_EQ(process.recoveries, 1);
}

TEST_F(Ledgers, OneWhoseRanksGoWhileItsAgentIsAskedIsWaitedFor) {
  const io::Owned living = ledger(*io::identify(target), 5);
  int waits = 0, asked = 0;
  run_agent([&] { ++asked, drain(living); });
  process.agent->view().page().shown.number = 5;
  EXPECT_TRUE(settle_ledgers_of_others(target.c_str(), true, process) && asked == 0);
  process.while_waiting = [&] {
    if (++waits == 100) (void)io::remove_owned(living.path);
  };
  settle(true);
  EXPECT_EQ(waits, 100);
}

// The number of a stand-in does not name the file that it stands for. That file's name on this node does not
// either.
TEST_F(Ledgers, WhatOthersHaveLeftInFilesThatStandInForOthersIsAskedForAtEveryOpen) {
  for (const std::uint32_t routed : {transport::routed_everywhere, transport::routed_stand_in}) {
    int asked = 0;
    run_agent([&] { ++asked; }, routed);
    EXPECT_TRUE(settle_ledgers((root_ + "/not-here").c_str(), true, process));
    EXPECT_EQ(asked > 0, routed == transport::routed_stand_in);
  }
}

TEST_F(Ledgers, WhatOthersHaveOpenKeepsAWriterAndNoReader) {
  const io::Owned living = ledger();
  settle(false);
  EXPECT_EQ(process.now_ns(), second);
  EXPECT_TRUE(settled && process.said.empty());
  settle(true);
  EXPECT_FALSE(settled) << "after the death of its agent, a recovery would bring its bytes back";
  EXPECT_NE(process.said.at(0).find("cannot be asked to give it up"), std::string::npos) << process.said[0];
}

// It has been asked to forget all that it had before.
TEST_F(Ledgers, OneOfAnAgentThatIsKnownKeepsNobody) {
  run_agent([] {});
  process.agent->view().page().shown.number = 5;
  process.agent->view().page().files[0].dirty.store(transport::state_clean);
  const FileIdentity file = *io::identify(target);
  {
    const io::Owned living = ledger(file, 5);
    settle(true);
    EXPECT_TRUE(settled && process.said.empty() && process.now_ns() == second);
    process.agent->view().page().stuck[0].store(transport::numbers_of(file).number);
    settle(true);
    EXPECT_FALSE(settled) << "its disk does not take it back";
    process.agent->view().page().stuck[0].store(transport::any_file);
    settle(true);
    EXPECT_FALSE(settled) << "of too many files";
  }
  settle(true);
  EXPECT_TRUE(settled) << "a file without a ledger";
}

TEST_F(Ledgers, OneThatARecoveryHoldsWithoutSuccessIsRecoveredWithTheOpensDescriptor) {
  std::optional<io::Owned> left = ledger();
  const std::string path = left->path;
  left.reset();
  std::optional<Fd> recovery = *io::lock_folder(root_);
  process.while_waiting = [&] { recovery.reset(); };
  process.recovery = [&] { return fs::remove(path); };
  settle(true);
  EXPECT_EQ(process.recoveries, 1);
  EXPECT_TRUE(settled && process.said.empty());
}

TEST_F(Ledgers, OneThatItsAgentGivesUpKeepsNobody) {
  io::Owned living = ledger();
  process.while_waiting = [&] { fs::remove(living.path); };
  settle(true);
  EXPECT_TRUE(settled && process.said.empty());
}

}  // namespace
}  // namespace millrace::client
