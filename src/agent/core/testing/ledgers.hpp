// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "agent/core/testing/ring_rig.hpp"
#include "io/posix/owned.hpp"
#include "journal/test_journal.hpp"

namespace millrace::agent {

// A Core with a journal directory of the test. The target is file 0, and its ledger is the next file.
class Ledgers : public testing::Test {
 protected:
  void start(io::MemoryOptions options = {}) {
    rig = std::make_unique<Rig>(std::move(options), folder());
    file = rig->storage.create();
  }
  void TearDown() override {
    rig.reset();
    EXPECT_EQ(names(), 0U);
    std::filesystem::remove_all(folder());
  }
  static std::string folder() {
    std::string name = testing::TempDir() + "millrace-ledgers-" +
                       testing::UnitTest::GetInstance()->current_test_info()->name() +
                       std::to_string(::getpid());
    std::filesystem::create_directory(name);
    return name;
  }
  static std::size_t names() {
    const auto list = io::list_owned(folder(), journal::suffix);
    return list ? list->size() : 99;
  }
  static FileSettings asked(Strategy strategy, Durability durability) {
    FileSettings settings = tiny(strategy, true);
    settings.durability = durability;
    return settings;
  }
  std::vector<std::uint64_t> offsets_in_ledger(bool stable = false) const {
    std::vector<std::uint64_t> offsets;
    const Fd source = journal::file_of(stable ? rig->storage.stable(1) : rig->storage.contents(1));
    journal::JournalReader reader(source);
    EXPECT_EQ(reader.open(), journal::Verdict::clean);
    EXPECT_EQ(reader.header().kind, journal::LogKind::ledger);
    for (journal::Record record; reader.next(record);) {
      if (record.type == journal::Type::data) offsets.push_back(record.offset);
    }
    return offsets;
  }
  void create() {
    for (int i = 0; i < 100 && names() == 0; ++i) rig->step();
    EXPECT_EQ(names(), 1U);
  }
  void settle() {
    for (int i = 0; i < 1000 && !rig->core.idle(); ++i) rig->step(ms);
  }

  std::unique_ptr<Rig> rig;
  Fd file;
};

}  // namespace millrace::agent
