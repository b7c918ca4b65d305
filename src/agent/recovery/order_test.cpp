// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Tests which records recovery writes to which state of a file, and in which order.
#include <fcntl.h>
#include <sys/stat.h>

#include <memory>
#include <optional>
#include <stdexcept>

#include "agent/recovery/recovery_target.hpp"
#include "agent/recovery/testing/recovery_rig.hpp"
#include "base/testing/limit.hpp"
#include "io/virtual/memory_storage.hpp"

namespace millrace::agent {
namespace {

using journal::Writers;

class Order : public Recovery {
 protected:
  std::unique_ptr<io::Storage> storage = std::move(*io::make_storage(SinkMode::automatic)).storage;

  FileState state() const { return *io::state_of(*io::open_owned(target)); }
  // The log's agent notes the target as it is now.
  void note(const std::string& name, Writers writers = Writers::nobody) const {
    change(name, [&](journal::StateSector& sector) {
      sector.writers = writers;
      sector.target = state();
      sector.alive_ns = io::wall_ns();
    });
  }
  void write_newer() const {
    std::fstream(target, std::ios::in | std::ios::out).seekp(20) << "newer";
    touch(target, 20'000'000'000);
  }
  // Sets the time of the last write; the file's ctime is the present.
  static void touch(const std::string& path, std::int64_t ahead_ns) {
    const std::int64_t ns = static_cast<std::int64_t>(io::wall_ns()) + ahead_ns;
    const timespec time{ns / 1'000'000'000, ns % 1'000'000'000};
    const timespec times[2] = {time, time};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }
};

TEST_F(Order, RecordsOfAllLogsAreMergedByTheirStamps) {
  put_stamped("b", {{0, "AAAA", 1000}, {4, "CCCC", 3000}}, identity());
  put_stamped("c", {{0, "RRRR", 5000}, {8, "SSSS", 9000}}, rescue());
  put_stamped("a", {{4, "x", 2000}, {0, "late", 7000}, {8, "early", 8000}}, rescue());
  const Ran ran = run();
  EXPECT_EQ(ran.status, 0) << ran.error;
  EXPECT_EQ(content().substr(0, 13), "lateCCCCSSSSy") << "x was written before CCCC";
  EXPECT_FALSE(fs::exists(folder()));
}

// The agent takes records whose stamps differ by less than the quantum in any order: here b after a.
TEST_F(Order, ARecordThatTheLedgerHasTooDoesNotComeOverALaterOneOfItsRank) {
  put_stamped("1", {{50, "a", 100}, {0, "bbbb", 50}}, identity());
  put_stamped("2", {{0, "bbbb", 50}, {0, "dd", 60}}, rescue());
  EXPECT_EQ(run().status, 0);
  EXPECT_EQ(content().substr(0, 4), "ddbb");
}

TEST_F(Order, StampsOfTwoBootsAreNotCompared) {
  journal::Identity before = identity(1), after = identity(2);
  before.boot = 1;
  after.boot = 2;
  put_stamped("a", {{0, "after", 10}}, after);
  put_stamped("b", {{0, "before", 999}}, before);
  const Ran ran = run();
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.error.find("before and after a boot"), std::string::npos) << ran.error;
  EXPECT_EQ(content(), std::string(100, '.'));
  EXPECT_EQ(run({.force = true}).status, 0);
  EXPECT_EQ(content().substr(0, 6), "aftere");
}

TEST_F(Order, OfAFileEitherAllLogsAreUsedOrNone) {
  for (const bool older : {false, true}) {
    std::vector<std::byte> bytes = committed(true);
    bytes[sizeof(journal::Start) + journal::record_bytes(4) + sizeof(journal::RecordHeader)] ^= std::byte{1};
    put("b", bytes);
    put_stamped("a", {{0, "new", 1}}, identity(older ? 0 : 9));
    const Ran ran = run();
    EXPECT_EQ(ran.status, 1);
    EXPECT_NE(ran.error.find(place("a") + ": was not used"), std::string::npos) << ran.error;
    EXPECT_EQ(content(), std::string(100, '.'));
  }
  put("c", {{0, "other"}}, [&] {
    std::ofstream(root + "/other") << "......";
    journal::Identity who = identity();
    who.target = *io::identify(root + "/other");
    who.path = root + "/other";
    return who;
  }());
  EXPECT_EQ(run().status, 1);
  EXPECT_FALSE(fs::exists(place("c"))) << "a log of another file does not wait for them";
  EXPECT_EQ(run({.force = true}).status, 0);
  EXPECT_EQ(content().substr(0, 4), "new.");
}

TEST_F(Order, ADamagedLogThatWasPassedOverHoldsUpNoOther) {
  std::vector<std::byte> bytes = committed(true);
  bytes[sizeof(journal::Start) + journal::record_bytes(4) + sizeof(journal::RecordHeader)] ^= std::byte{1};
  put("b", bytes);
  put_stamped("a", {{0, "new", 1}}, identity());
  pass_over("b");
  EXPECT_EQ(run().status, 1);
  EXPECT_EQ(content().substr(0, 4), "new.");
  EXPECT_TRUE(fs::exists(place("b")));
}

TEST_F(Order, AFileThatSomebodyChangedIsNotWrittenUnasked) {
  put("a", {{0, "old"}});
  note("a");
  EXPECT_EQ(list().out.find("changed since"), std::string::npos);
  write_newer();
  EXPECT_NE(list().out.find("changed since"), std::string::npos) << list().out;
  for (int i = 0; i < 2; ++i) {
    const Ran ran = run();
    EXPECT_EQ(ran.status, 1);
    EXPECT_NE(ran.error.find(target + " was changed after the end of its agent"), std::string::npos)
        << ran.error;
    EXPECT_EQ(content().substr(0, 3), "...");
  }
  EXPECT_EQ(run({.force = true}).status, 0);
  EXPECT_EQ(content().substr(0, 3), "old");
}

TEST_F(Order, ACopyOfOlderBytesIsAChangeToo) {
  put("a", {{0, "old"}});
  note("a");
  touch(target, -1'000'000'000'000);  // cp -p over it
  EXPECT_EQ(run().status, 1);
}

TEST_F(Order, WhatChangesTheInodeAloneIsNoChange) {
  put("a", {{0, "old"}});
  note("a");
  ASSERT_EQ(::chmod(target.c_str(), 0640), 0);
  fs::create_hard_link(target, root + "/link");
  const Ran ran = run();
  EXPECT_EQ(ran.status, 0) << ran.error;
  EXPECT_EQ(content().substr(0, 3), "old");
}

TEST_F(Order, ACrashMayTakeTheLastWritesFromAFile) {
  journal::Identity who = identity();
  for (const bool booted : {false, true}) {
    who.boot = booted ? 1 : Pace().boot();
    put("a", {{0, "old"}}, who);
    change("a", [&](journal::StateSector& sector) {
      sector.writers = Writers::nobody;
      sector.target = state();
      sector.target.mtime_ns += 5;
      sector.target.ctime_ns += 5;
      sector.target.bytes += 100;
    });
    EXPECT_EQ(run().status, booted ? 0 : 1) << booted;
  }
}

TEST_F(Order, AnAgentThatDiedWhileItWroteLeavesAnUnknownState) {
  put("a", {{0, "old"}});
  for (const std::uint64_t seconds : {60, 1}) {
    change("a", [&](journal::StateSector& sector) {
      sector.alive_ns = state().ctime_ns - seconds * 1'000'000'000;
    });
    EXPECT_EQ(run().status, seconds == 60 ? 1 : 0) << seconds;
  }
  EXPECT_EQ(content().substr(0, 3), "old");
}

// The clock was set back by an hour, and then a rank saved its ring.
TEST_F(Order, TheLastSignOfLifeOfAnOpenCountsForAllItsLogs) {
  constexpr std::uint64_t hour_ns = 3'600'000'000'000;
  for (const std::uint64_t group : {7, 8}) {
    journal::Identity who = identity();
    who.group = 8;
    put("a", {{0, "old"}}, who);
    change("a", [&](journal::StateSector& sector) { sector.alive_ns = state().ctime_ns; });
    who.kind = journal::LogKind::rescue;
    who.group = group;
    put("b", {{4, "new"}}, who);
    change("b", [&](journal::StateSector& sector) { sector.alive_ns = state().ctime_ns - hour_ns; });
    EXPECT_EQ(run().status, group == 7 ? 1 : 0) << group;
  }
}

TEST_F(Order, AgentsOfOtherNodesMayWriteLonger) {
  put("a", {{0, "old"}});
  for (const std::uint64_t seconds : {3600, 60}) {
    change("a", [&](journal::StateSector& sector) {
      sector.writers = Writers::nodes;
      sector.alive_ns = state().ctime_ns - seconds * 1'000'000'000;
    });
    EXPECT_EQ(run().status, seconds == 3600 ? 1 : 0) << seconds;
  }
}

TEST_F(Order, ADeviceNumberIsNoIdentity) {
  journal::Identity who = identity();
  who.target.device += 77;
  put("a", {{0, "old"}}, who);
  EXPECT_EQ(run().status, 0);
  EXPECT_EQ(content().substr(0, 3), "old");
}

TEST(SameTarget, AMarkOutlastsANumber) {
  EXPECT_EQ(same_target({1, 2, 0, 0, 50}, {9, 3, 0, 0, 50}), Sameness::same);
  EXPECT_EQ(same_target({1, 2, 0, 0, 50}, {9, 3, 0, 0, 51}), Sameness::other);
  EXPECT_EQ(same_target({1, 2, 0, 0, unmarked}, {9, 3, 0, 0, unmarked}), Sameness::other);
  EXPECT_EQ(same_target({1, 2, 30, 0, 50}, {9, 3, 31, 0, 50}), Sameness::other);
  EXPECT_EQ(same_target({1, 2}, {9, 3}), Sameness::other);
}

TEST_F(Order, ARenamedFileIsFoundInItsFolder) {
  put("a", {{0, "old"}});
  fs::rename(target, root + "/renamed");
  std::ofstream(target) << std::string(100, ':');  // and another file has its name
  EXPECT_NE(list().out.find("(there, as " + root + "/renamed)"), std::string::npos) << list().out;
  const Ran ran = run();
  EXPECT_EQ(ran.status, 0) << ran.error;
  EXPECT_NE(ran.out.find(root + "/renamed: recovered"), std::string::npos) << ran.out;
  EXPECT_EQ(content(), std::string(100, ':'));
}

TEST_F(Order, OnlyTheFileThatIsAskedForIsWritten) {
  put("a", {{0, "old"}});
  fs::create_directory(root + "/away");
  fs::rename(target, root + "/away/data");
  std::ofstream(target) << std::string(100, ':');
  EXPECT_EQ(run({.target = target}).status, 0);
  EXPECT_TRUE(fs::exists(place("a")));
  EXPECT_EQ(run().status, 1);
  const Ran ran = run({.target = root + "/away/data"});
  EXPECT_EQ(ran.status, 0) << ran.error;
  EXPECT_FALSE(fs::exists(folder()));
}

// A recovery that was killed behind the target's datasync, while it removed the logs.
TEST_F(Order, WhatALeaderSaysToBeDoneIsOnlyRemoved) {
  put_stamped("a", {{0, "older", 10}}, identity());
  put_stamped("z", {{0, "newer", 20}}, rescue());
  const std::uint64_t leader = journal::look_at(place("z"))->start.header.checksum;
  change("a", [&](journal::StateSector& sector) { sector.leader = leader; });
  change("z", [&](journal::StateSector& sector) {
    sector.leader = leader;
    sector.state = journal::LogState::done;
  });
  std::fstream(target, std::ios::in | std::ios::out) << "later";
  EXPECT_EQ(run().status, 0);
  EXPECT_EQ(content().substr(0, 5), "later");
  EXPECT_FALSE(fs::exists(folder()));
}

TEST_F(Order, ARecoveryWaitsForAnotherOneAndSaysSo) {
  put("a", {{0, "old"}});
  struct Ends : Pace {  // the other one
    void pause(std::uint32_t for_ms) override {
      if (++pauses == 8) lock.reset();
      Pace::pause(for_ms);
    }
    int pauses = 0;
    std::optional<Fd> lock;
  } other;
  other.lock = *io::lock_folder(root);
  const Ran ran = run({}, *storage, other);
  EXPECT_EQ(other.pauses, 8) << "it has done nothing before the other one has ended";
  EXPECT_NE(ran.out.find("waiting for another recovery"), std::string::npos) << ran.out;
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(content().substr(0, 3), "old");
}

TEST_F(Order, WhatAKilledRecoveryHasWrittenIsNoChangeByAStranger) {
  put("a", {{0, "old"}});
  touch(target, -10'000'000'000);
  note("a");
  struct Dies : Pace {
    void wait_for(io::Storage&) override { throw std::runtime_error("killed"); }
  } dies;
  EXPECT_THROW(run({}, *storage, dies), std::runtime_error);
  ASSERT_TRUE(fs::exists(place("a")));
  EXPECT_EQ(content().substr(0, 3), "old");
  const Ran ran = run();
  EXPECT_EQ(ran.status, 0) << ran.error;
  EXPECT_FALSE(fs::exists(folder()));
}

TEST_F(Order, TheLogsOfATargetThatCannotBeWrittenStay) {
  put("a", {{0, "old"}});
  io::MemoryStorage failing({.faults = {{.op = io::Op::write, .first = 1, .every = 1, .error = EIO}}});
  Pace pace;
  const Ran ran = run({}, failing, pace);
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.error.find("the journal stays"), std::string::npos) << ran.error;
  EXPECT_TRUE(fs::exists(place("a")));
}

TEST_F(Order, LogsOfOtherMachinesAreToldOf) {
  put("a", {{0, "old"}});
  const std::string other = root + "/millrace-" + std::to_string(::geteuid()) + "-another";
  fs::rename(folder(), other);
  for (const Ran& ran : {run(), list()}) {
    EXPECT_EQ(ran.status, 1);
    EXPECT_NE(ran.error.find(other + ": has journals of another machine"), std::string::npos) << ran.error;
    EXPECT_EQ(ran.out, "");
  }
}

TEST_F(Order, ThousandsOfLogsAreOpenOneFileAtATime) {
  const Limit few(RLIMIT_NOFILE, 64);
  constexpr int many = 1500;
  for (int i = 0; i < many; ++i) {
    journal::Identity who = identity();
    who.path = root + "/" + std::to_string(i);
    std::ofstream(who.path) << "....";
    who.target = *io::identify(who.path);
    put(std::to_string(i), {{0, "x"}}, who);
  }
  const Ran ran = run();
  EXPECT_EQ(ran.status, 0) << ran.error;
  EXPECT_FALSE(fs::exists(folder()));
}

}  // namespace
}  // namespace millrace::agent
