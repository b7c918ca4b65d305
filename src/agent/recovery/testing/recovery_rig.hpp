// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "agent/recovery/recovery.hpp"
#include "agent/recovery/recovery_list.hpp"
#include "io/factory.hpp"
#include "io/posix/identity.hpp"
#include "io/posix/owned.hpp"
#include "journal/folder.hpp"
#include "journal/test_journal.hpp"

namespace millrace::agent {

namespace fs = std::filesystem;

struct Stamped {
  std::uint64_t offset;
  std::string data;
  std::uint64_t stamp;
};

// A folder with journals and a target of 100 bytes.
class Recovery : public testing::Test {
 protected:
  void SetUp() override {
    root = testing::TempDir() + "millrace-recovery-" +
           testing::UnitTest::GetInstance()->current_test_info()->name() + std::to_string(::getpid());
    fs::create_directory(root);
    target = root + "/data";
    std::ofstream(target) << std::string(100, '.');
  }
  void TearDown() override { fs::remove_all(root); }

  struct Ran {
    int status;
    std::string out;
    std::string error;
  };
  Ran run(RecoveryOptions options = {}) const {
    Pace pace;
    return run(std::move(options), *std::move(*io::make_storage(SinkMode::automatic)).storage, pace);
  }
  Ran run(RecoveryOptions options, io::Storage& storage, Pace& pace) const {
    options.directory = root;
    std::ostringstream out, error;
    const int status = recover(options, storage, out, error, pace);
    return {status, out.str(), error.str()};
  }
  Ran list() const {
    auto storage = std::move(*io::make_storage(SinkMode::automatic)).storage;
    std::ostringstream out, error;
    const int status = list_journals(root, *storage, out, error);
    return {status, out.str(), error.str()};
  }
  Ran discard(const std::vector<std::string>& paths) const {
    std::ostringstream out, error;
    const int status = discard_journals(root, paths, out, error);
    return {status, out.str(), error.str()};
  }
  journal::Identity identity(std::uint64_t created = 1) const {
    return {journal::LogKind::ledger, *io::identify(target), created, target};
  }
  std::string folder() const { return io::owned_folder(root); }
  std::string place(const std::string& name) const { return folder() + "/" + name + ".journal"; }
  void put(const std::string& name, std::span<const std::byte> bytes) const {
    fs::create_directory(folder());
    fs::permissions(folder(), fs::perms::owner_all);
    std::ofstream(place(name), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  void put(const std::string& name, const std::vector<journal::Written>& records,
           std::uint64_t created = 1) const {
    put(name, records, identity(created));
  }
  void put(const std::string& name, const std::vector<journal::Written>& records,
           const journal::Identity& who) const {
    journal::TestJournal made(who);
    for (const auto& [offset, data] : records) made.append(offset, data);
    made.finish();
    put(name, made.bytes());
  }
  void put_stamped(const std::string& name, const std::vector<Stamped>& records,
                   const journal::Identity& who) const {
    journal::TestJournal made(who);
    for (const auto& [offset, data, stamp] : records) made.append(offset, data, stamp);
    made.commit();
    made.finish();
    put(name, made.bytes());
  }
  journal::Identity rescue() const {
    journal::Identity who = identity();
    who.kind = journal::LogKind::rescue;
    return who;
  }
  void change(const std::string& name, const std::function<void(journal::StateSector&)>& how) const {
    journal::Named log = *journal::look_at(place(name));
    journal::StateSector sector = log.start.sector;
    how(sector);
    ASSERT_TRUE(journal::put_state(log.file, log.start, sector, true).ok());
  }
  // Two records, and a commit after the first one, or (`behind`) after the second one.
  std::vector<std::byte> committed(bool behind) const {
    journal::TestJournal made(identity());
    made.append(0, "one.");
    if (!behind) made.commit();
    made.append(50, "two.");
    if (behind) made.commit();
    made.finish();
    return made.bytes();
  }
  static std::vector<std::byte> damaged(std::vector<std::byte> bytes) {
    const auto at = sizeof(journal::Start) + journal::record_bytes(4) + 2 * sizeof(journal::RecordHeader);
    bytes[at] ^= std::byte{1};
    return bytes;
  }
  void pass_over(const std::string& name) const {
    EXPECT_TRUE(journal::pass_over(*journal::look_at(place(name))).ok());
  }
  bool passed_over(const std::string& name) const {
    return journal::look_at(place(name))->start.sector.passed_over != 0;
  }
  std::string content() const {
    std::ifstream in(target, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::string root, target;
};

}  // namespace millrace::agent
