// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/costs/cost_record.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

namespace millrace::client {
namespace {

class CostRecordTest : public testing::Test {
 protected:
  CostRecordTest() {
    char name[] = "/tmp/millrace-costs-XXXXXX";
    folder_ = ::mkdtemp(name);
    settings_.cost_directory = folder_ + "/deep/er";
  }
  ~CostRecordTest() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
  std::string text_of(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string folder_;
  Settings settings_;
};

TEST_F(CostRecordTest, WhatIsStoredIsLoaded) {
  Costs costs = typical_costs();
  costs.call_ps = 77;
  const std::string record = cost_record(settings_.cost_directory, "ext4 /dev/x");
  ASSERT_TRUE(store_costs(record, "ext4 /dev/x", costs).ok());
  Costs found;
  ASSERT_TRUE(load_costs(record, found));
  EXPECT_EQ(to_text(found), to_text(costs));
  EXPECT_NE(cost_record(settings_.cost_directory, "ext4 /dev/y"), record);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(settings_.cost_directory), {}), 1)
      << "nothing else";
}

TEST_F(CostRecordTest, ARecordThatIsCutOrNonsenseIsNone) {
  const std::string record = cost_record(settings_.cost_directory, "a b");
  ASSERT_TRUE(store_costs(record, "a b", typical_costs()).ok());
  const std::string whole = text_of(record);
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    write(record, whole.substr(0, size));
    Costs costs;
    costs.call_ps = 5;
    if (!load_costs(record, costs)) {
      EXPECT_EQ(costs.call_ps, 5U) << size;
    }
  }
  Costs costs;
  write(record, whole.substr(0, whole.size() - 1));
  EXPECT_FALSE(load_costs(record, costs)) << "the last number may be cut";
  write(record, "millrace-costs 2\nfile_system a b\n");
  EXPECT_FALSE(load_costs(record, costs));
  EXPECT_FALSE(load_costs("/dev/zero", costs));
}

TEST_F(CostRecordTest, WhereNothingCanBeKeptThatIsSaid) {
  settings_.cost_directory = "/dev/null";
  EXPECT_FALSE(store_costs(cost_record(cost_directory(settings_), "a b"), "a b", Costs()).ok());
}

TEST_F(CostRecordTest, AHomeThatDoesNotExistGetsNoRecord) {
  // Whatever the environment had is put back: other tests of this process read it.
  const std::array names = {"HOME", "XDG_CACHE_HOME"};
  std::array<std::optional<std::string>, 2> before;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (const char* value = std::getenv(names[i])) before[i] = value;
    ::unsetenv(names[i]);
  }
  settings_.cost_directory.clear();
  ::setenv("HOME", folder_.c_str(), 1);
  EXPECT_EQ(cost_directory(settings_), folder_ + "/.cache/millrace");
  ::setenv("HOME", (folder_ + "/none").c_str(), 1);
  EXPECT_EQ(cost_directory(settings_), "");
  for (std::size_t i = 0; i < names.size(); ++i)
    before[i] ? ::setenv(names[i], before[i]->c_str(), 1) : ::unsetenv(names[i]);
}

TEST_F(CostRecordTest, TheBookGoesByTheRecordAndAddsWhatFilesTook) {
  const std::string file_system = "ext4 /dev/vda1";
  const std::string record = cost_record(cost_directory(settings_), file_system);
  Costs costs = typical_costs();
  costs.byte_ps = 999;
  ASSERT_TRUE(store_costs(record, file_system, costs).ok());
  {
    CostBook book(settings_);
    const KnownCosts known = book.of(file_system);
    EXPECT_EQ(known.costs.byte_ps, 999U);
    book.learn({known.file_system, {{400, 100}, {}}});
    book.learn({known.file_system, {{1600, 400}, {}}});  // later sums contain the earlier ones
    EXPECT_EQ(book.of(file_system).costs.taught_direct, Costs::taught_nothing)
        << "files of one program go one way";
    book.learn({known.file_system + 1, {{9, 1}, {}}});
    book.store();
    book.store();
  }
  CostBook next(settings_);
  EXPECT_EQ(next.of(file_system).costs.taught_direct, 2 * Costs::taught_nothing);
  EXPECT_EQ(next.of(file_system).costs.taught_pipeline, Costs::taught_nothing);
  EXPECT_EQ(next.of(file_system).costs.byte_ps, 999U);
}

TEST_F(CostRecordTest, WhoHasLearnedNothingStoresNothing) {
  {
    CostBook book(settings_);
    EXPECT_EQ(book.of("ext4 /dev/vda1").costs.start_ps, Costs::start_of_an_agent_ps);
    book.store();
  }
  EXPECT_FALSE(std::filesystem::exists(settings_.cost_directory));
}

}  // namespace
}  // namespace millrace::client
