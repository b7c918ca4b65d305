// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Tests what recovery does with journals that cannot be removed, or cannot be locked.
#include <sys/syscall.h>

#include <cerrno>
#include <cstdio>
#include <optional>

#include "agent/recovery/testing/recovery_rig.hpp"
#include "io/posix/testing/refused_call.hpp"

namespace millrace::agent {
namespace {

class Done : public Recovery {
 protected:
  // The disk refuses to remove this journal, for as long as the object lives: unlink(2) finds a folder.
  class Stuck {
   public:
    explicit Stuck(std::string path) : path_(std::move(path)) {
      fs::rename(path_, path_ + "-aside");
      fs::create_directory(path_);
    }
    ~Stuck() {
      fs::remove(path_);
      fs::rename(path_ + "-aside", path_);
    }
    Stuck(const Stuck&) = delete;
    Stuck& operator=(const Stuck&) = delete;

   private:
    std::string path_;
  };
  // It becomes so while the recovery has it open.
  struct Sticks : Pace {
    explicit Sticks(std::string of) : path(std::move(of)) {}
    void between_steps() override {
      if (++steps == 2) stuck.emplace(path);  // the first journal is open and locked
    }
    int steps = 0;
    std::string path;
    std::optional<Stuck> stuck;
  };

  // A recovery was killed behind the target's datasync: z has newer bytes and leads a.
  void put_led() const {
    put_stamped("a", {{0, "older", 10}}, identity());
    put_stamped("z", {{0, "newer", 20}}, rescue());
    const std::uint64_t leader = journal::look_at(place("z"))->start.header.checksum;
    change("a", [&](journal::StateSector& sector) { sector.leader = leader; });
    finish("z");
    std::fstream(target, std::ios::in | std::ios::out) << "newer";
  }
  void finish(const std::string& name) const {
    change(name, [](journal::StateSector& sector) { sector.state = journal::LogState::done; });
  }
  Ran run_stuck(const std::string& name) const {
    Sticks pace(place(name));
    return run({}, *std::move(*io::make_storage(SinkMode::automatic)).storage, pace);
  }
};

TEST_F(Done, ALeaderStaysUntilAllThatItLeadsHasGone) {
  put_led();
  const Ran ran = run_stuck("a");
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.error.find(place("a") + ": cannot be removed"), std::string::npos) << ran.error;
  EXPECT_TRUE(fs::exists(place("z")));
  const Ran again = run();
  EXPECT_EQ(again.status, 0) << again.error;
  EXPECT_EQ(content().substr(0, 5), "newer");
  EXPECT_FALSE(fs::exists(folder()));
}

TEST_F(Done, ALeaderStaysWhileAProcessHoldsAJournalThatItLeads) {
  put_led();
  std::optional<Fd> held = *io::open_owned(place("a"));
  ASSERT_TRUE(io::take_lock(*held));
  EXPECT_EQ(run().status, 0);
  EXPECT_TRUE(fs::exists(place("z")));
  held.reset();
  EXPECT_EQ(run().status, 0);
  EXPECT_EQ(content().substr(0, 5), "newer");
  EXPECT_FALSE(fs::exists(folder()));
}

TEST_F(Done, LaterJournalsOfTheFileDoNotWaitForOneThatIsDone) {
  put_led();
  put_stamped("m", {{0, "newest", 30}}, identity(2));
  const Ran ran = run_stuck("a");
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(content().substr(0, 6), "newest");
  EXPECT_EQ(run().status, 0);
  EXPECT_EQ(content().substr(0, 6), "newest");
}

TEST_F(Done, EachJournalThatIsDoneIsOnlyRemovedAlsoIfItIsDamaged) {
  put_stamped("a", {{0, "older", 10}}, identity());
  put("b", damaged(committed(true)));
  finish("a");
  finish("b");
  const Ran ran = run();
  EXPECT_EQ(ran.status, 0) << ran.error;
  EXPECT_EQ(content(), std::string(100, '.'));
  EXPECT_FALSE(fs::exists(folder()));
}

TEST_F(Done, AJournalThatWasWrittenAndCannotBeRemovedIsNotWrittenAgain) {
  put("a", {{0, "older"}});
  EXPECT_EQ(run_stuck("a").status, 1);
  EXPECT_EQ(content().substr(0, 5), "older");
  std::fstream(target, std::ios::in | std::ios::out) << "newer";
  EXPECT_EQ(run().status, 0);
  EXPECT_EQ(content().substr(0, 5), "newer");
  EXPECT_FALSE(fs::exists(folder()));
}

// FUSE gave the file another inode number between the two journals. Its mark stays.
TEST_F(Done, TheJournalsOfAFileThatWasNumberedAnewAreMerged) {
  journal::Identity older = identity(), newer = identity(2);
  older.target.mark = newer.target.mark = 77;
  newer.target.inode += 1;
  put_stamped("a", {{0, "newer", 20}}, newer);
  put_stamped("b", {{0, "older", 10}}, older);
  EXPECT_EQ(run({.force = true}).status, 0);
  EXPECT_EQ(content().substr(0, 5), "newer");
}

// The first journal is from a time before the file had a mark. The last one has the number of the first and
// the mark of the second.
TEST_F(Done, AJournalJoinsTheGroupsOfItsNumberAndOfItsMark) {
  journal::Identity unmarked = identity(3), numbered_anew = identity(2), joins = identity(1);
  unmarked.target.mark = 0;
  numbered_anew.target.mark = joins.target.mark = 77;
  numbered_anew.target.inode += 1;
  put_stamped("a", {{0, "newer", 20}}, unmarked);
  put_stamped("b", {{0, "older", 10}}, numbered_anew);
  put_stamped("c", {{8, "x", 5}}, joins);
  EXPECT_EQ(run({.force = true}).status, 0);
  EXPECT_EQ(content().substr(0, 9), "newer...x");
  EXPECT_FALSE(fs::exists(folder()));
}

TEST_F(Done, WithoutLocksNothingIsWrittenOrRemovedAndALineSaysSo) {
  put("a", {{0, "old"}});
  const auto attempt = [this] {
    io::refuse_call(SYS_flock, ENOLCK);
    const Ran ran = run(), gone = discard({place("a")});
    (void)std::fputs((ran.error + gone.error).c_str(), stderr);
    std::_Exit(ran.status + gone.status);
  };
  EXPECT_EXIT(attempt(), testing::ExitedWithCode(2), "no file locks.*\n.*gives no lock");
  EXPECT_TRUE(fs::exists(place("a")));
  EXPECT_EQ(content().substr(0, 3), "...");
}

}  // namespace
}  // namespace millrace::agent
