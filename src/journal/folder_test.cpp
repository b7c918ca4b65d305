// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "journal/folder.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/testing/limit.hpp"
#include "journal/test_journal.hpp"

namespace millrace::journal {
namespace {

namespace fs = std::filesystem;

class Folder : public ::testing::Test {
 protected:
  Folder()
      : root(::testing::TempDir() + "millrace-folder-" +
             ::testing::UnitTest::GetInstance()->current_test_info()->name() + std::to_string(::getpid())) {
    fs::create_directory(root);
  }
  ~Folder() override { fs::remove_all(root); }

  static Identity rescue() { return {LogKind::rescue, {1, 2, 3, 4, 0}, 0, "/data/file"}; }
  std::vector<Named> logs() const { return std::move(*logs_of(root, rescue().target, read_start)); }
  void save_one() const {
    const std::string text = "saved";
    const Record one{.offset = 7, .data = std::as_bytes(std::span(text.data(), text.size()))};
    ASSERT_TRUE(save(root, rescue(), {&one, 1}).ok());
  }
  // A log of version 3, in the parts that both versions have.
  std::string of_version_3() const {
    save_one();
    const std::string path = logs().at(0).path;
    FileHeader header = logs()[0].start.header;
    header.version = 3;
    header.checksum = header_checksum(header);
    const Fd file = *io::open_owned(path);
    EXPECT_TRUE(io::write_at(file, 0, std::as_bytes(std::span(&header, 1))).ok());
    fs::resize_file(path, sizeof header + record_bytes(1));
    return path;
  }
  static std::string content(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::string root;
};

TEST_F(Folder, AnAgentMayHaveThousandsOfLogs) {
  for (int i = 0; i < 2500; ++i) ASSERT_TRUE(io::create_owned(root, suffix_of(i % 3)).ok()) << i;
  EXPECT_EQ(io::list_owned(root, suffix)->size(), 2500U);
  EXPECT_EQ(io::list_owned(root, suffix_of(2))->size(), 833U);
}

TEST_F(Folder, WhatARankSavesIsACommittedLog) {
  EXPECT_FALSE(*has_logs(root));
  const std::string one = "older", two = "newer bytes";
  const std::vector<Record> records = {
      {.stamp = 5, .offset = 100, .data = std::as_bytes(std::span(one.data(), one.size()))},
      {.stamp = 9, .offset = 98, .data = std::as_bytes(std::span(two.data(), two.size()))}};
  ASSERT_TRUE(save(root, rescue(), records).ok());
  EXPECT_TRUE(*has_logs(root));
  ASSERT_EQ(logs().size(), 1U);
  EXPECT_FALSE(logs()[0].living);
  const std::string bytes = content(logs()[0].path);
  const ReadBack back = read_all(std::as_bytes(std::span(bytes)));
  EXPECT_EQ(back.records, (std::vector<Written>{{100, one}, {98, two}}));
  const Fd source = file_of(std::as_bytes(std::span(bytes)));
  const Summary summary = scan(source);
  EXPECT_EQ(summary.verdict, Verdict::clean);
  EXPECT_TRUE(summary.committed);
  EXPECT_EQ(summary.header.kind, LogKind::rescue);
  EXPECT_EQ(path_of(summary.header), "/data/file");
}

TEST_F(Folder, APathThatDoesNotFitIsRefusedAndLeavesNothing) {
  Identity identity = rescue();
  for (const std::size_t length : {std::size_t{0}, path_max + 1}) {
    identity.path = std::string(length, 'p');
    EXPECT_EQ(save(root, identity, {}).code(), Code::unsupported);
  }
  EXPECT_FALSE(*has_logs(root));
}

TEST_F(Folder, WhoCannotLookDoesNotKnowThatThereAreNone) {
  save_one();
  std::vector<Status> seen;
  {
    const Limit no_more(RLIMIT_NOFILE, 3);
    seen = {has_logs(root).status(), logs_of(root, rescue().target, read_start).status(),
            is_recovering(root).status(), progress_in(root, read_start).status()};
  }
  for (const Status status : seen) EXPECT_EQ(status.error(), EMFILE);
}

TEST_F(Folder, ALogThatCannotBeReadMayBeOfTheTarget) {
  save_one();
  const ReadStart broken = [](const Fd&, std::span<std::byte>) { return Status::from_errno(EIO); };
  EXPECT_EQ(logs_of(root, rescue().target, broken).status().code(), Code::io);
  EXPECT_EQ(progress_in(root, broken).status().code(), Code::io);
}

TEST_F(Folder, OnlyLogsThatMayBeOfTheTargetAreFound) {
  save_one();
  FileIdentity other = rescue().target;
  other.birth_ns += 1;
  EXPECT_TRUE(logs_of(root, other, read_start)->empty());
  std::ofstream(io::owned_folder(root) + "/0-1.journal") << std::string(10'000, 'x');
  EXPECT_EQ(logs().size(), 1U);
}

TEST_F(Folder, TheStateOfALogAndItsMarkDoNotTouchEachOther) {
  save_one();
  Named log = std::move(logs().at(0));
  set_state(log.file, log.start, LogState::draining);
  show_progress(log.file, log.start);
  EXPECT_TRUE(pass_over(log).ok());
  Start now = logs().at(0).start;
  EXPECT_EQ(now.sector.state, LogState::draining);
  EXPECT_EQ(now.sector.progress, 1U);
  EXPECT_EQ(now.sector.passed_over, 1U);
  set_state(log.file, now, LogState::open);
  show_progress(log.file, now);
  EXPECT_EQ(logs().at(0).start.sector.state, LogState::open);
  EXPECT_EQ(logs().at(0).start.sector.progress, 2U);
  EXPECT_EQ(logs().at(0).start.sector.passed_over, 1U);
  const std::string bytes = content(log.path);
  const Fd source = file_of(std::as_bytes(std::span(bytes)));
  EXPECT_EQ(scan(source).verdict, Verdict::clean);
}

TEST_F(Folder, AStateThatIsDamagedIsNotTakenForAMark) {
  save_one();
  const Named log = std::move(logs().at(0));
  const StateSector wrong = sealed({LogState::draining, 1, 1}, log.start.header.checksum + 1);
  ASSERT_TRUE(io::write_at(log.file, sizeof(FileHeader), std::as_bytes(std::span(&wrong, 1))).ok());
  EXPECT_EQ(logs().at(0).start.sector.passed_over, 0U);
}

// A read of the sector may see a part of the write that replaces it.
TEST_F(Folder, AStateThatIsBeingReplacedIsReadAgain) {
  save_one();
  Named log = std::move(logs().at(0));
  set_state(log.file, log.start, LogState::draining);
  int reads = 0;
  const Result<Named> seen = look_at(log.path, [&reads](const Fd& file, std::span<std::byte> into) {
    const Result<std::size_t> got = read_start(file, into);
    if (++reads == 1) into[sizeof(FileHeader)] = std::byte{1};  // the old state
    return got;
  });
  EXPECT_EQ(seen->start.sector.state, LogState::draining);
}

TEST_F(Folder, ALogOfVersion3IsMarkedAsItsBuildUnderstandsIt) {
  const std::string path = of_version_3();
  const std::string before = content(path);
  ASSERT_EQ(logs().size(), 1U) << "by its numbers";
  EXPECT_TRUE(pass_over(logs()[0]).ok());
  EXPECT_EQ(content(path), before);
  EXPECT_TRUE((fs::status(path).permissions() & fs::perms::owner_exec) != fs::perms::none);
}

TEST_F(Folder, ALogWhoseNameStaysSaysThatItIsDone) {
  save_one();
  const Named log = std::move(logs().at(0));
  const std::string aside = io::owned_folder(root) + "/aside.journal";
  fs::rename(log.path, aside);
  fs::create_directory(log.path);  // unlink(2) refuses folders
  EXPECT_TRUE(retire(log.file, log.path).ok());
  EXPECT_EQ(look_at(aside)->start.sector.state, LogState::done);
  EXPECT_TRUE(retire(log.file, aside).ok());
  EXPECT_FALSE(fs::exists(aside));
}

}  // namespace
}  // namespace millrace::journal
