// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "journal/retirements.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "io/posix/owned.hpp"
#include "io/virtual/memory_storage.hpp"
#include "journal/folder.hpp"

namespace millrace::journal {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t second = 1'000'000'000;
constexpr std::uint32_t user = 77;

class Retiring : public ::testing::Test {
 protected:
  Retiring()
      : root(::testing::TempDir() + "millrace-retiring-" +
             ::testing::UnitTest::GetInstance()->current_test_info()->name() + std::to_string(::getpid())) {
    fs::create_directory(root);
    EXPECT_NE(::signal(SIGXFSZ, SIG_IGN), SIG_ERR);
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
  }
  ~Retiring() override {
    let_write(true);
    fs::remove_all(root);
  }

  // The disk refuses to remove the log (unlink(2) finds a folder), and takes no word.
  void retire_a_stuck_log() {
    io::Owned made = *io::create_owned(root, suffix);
    path = made.path;
    const Start start = start_of({LogKind::ledger, {1, 2}, 0, "/data"});
    ASSERT_TRUE(io::write_durably(made.file, 0, std::as_bytes(std::span(&start, 1))).ok());
    fs::rename(path, path + "-aside");
    fs::create_directory(path);
    let_write(false);
    retirements.add({std::move(made.file), path, "/data", {}, user});
    run();
  }
  void let_write(bool may) const {
    const rlimit now{may ? before_.rlim_cur : 1, before_.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &now), 0);
  }
  void run(std::uint64_t for_ns = 0) {
    now_ns += for_ns;
    retirements.advance(now_ns);
    for (int i = 0; i < 10; ++i) {
      storage.kick();
      std::vector<io::Completion> done;
      storage.poll(done);
      for (const io::Completion& one : done) retirements.complete(one);
    }
  }
  bool is_living() const { return io::is_locked(*io::open_owned(path + "-aside")); }

  std::string root, path;
  io::MemoryStorage storage;
  std::uint32_t next_owner = 1;
  Retirements retirements{storage, next_owner};
  std::uint64_t now_ns = second;

 private:
  rlimit before_{};
};

TEST_F(Retiring, ALogGoesWithItsLock) {
  io::Owned made = *io::create_owned(root, suffix);
  retirements.add({std::move(made.file), made.path, "/data", {}, user});
  EXPECT_TRUE(retirements.busy_for(user));
  run();
  EXPECT_TRUE(retirements.quiet());
  EXPECT_FALSE(fs::exists(made.path));
  EXPECT_TRUE(retirements.take_messages().empty());
  EXPECT_EQ(retirements.next_deadline_ns(), UINT64_MAX);
}

TEST_F(Retiring, ALogThatTheDiskDoesNotTakeBackCountsAsLivingUntilItDoes) {
  retire_a_stuck_log();
  EXPECT_TRUE(is_living());
  EXPECT_FALSE(retirements.refused(user).ok());
  EXPECT_TRUE(retirements.refused(user + 1).ok());
  const std::vector<std::string> told = retirements.take_messages();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_NE(told[0].find("tries again"), std::string::npos) << told[0];
  run(second);
  EXPECT_TRUE(is_living());
  EXPECT_TRUE(retirements.take_messages().empty()) << "one line is enough";
  let_write(true);
  run(second / 2);
  EXPECT_FALSE(retirements.refused().empty()) << "not yet";
  run(second / 2);
  EXPECT_TRUE(retirements.refused().empty());
  EXPECT_FALSE(is_living());
  EXPECT_EQ(look_at(path + "-aside")->start.sector.state, LogState::done);
}

TEST_F(Retiring, TheEndOfTheProcessIsTheLastTry) {
  EXPECT_TRUE(retirements.end());
  retire_a_stuck_log();
  (void)retirements.take_messages();
  EXPECT_FALSE(retirements.end());
  run();
  EXPECT_TRUE(retirements.end());
  const std::vector<std::string> told = retirements.take_messages();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_NE(told[0].find("--discard"), std::string::npos) << told[0];
}

}  // namespace
}  // namespace millrace::journal
