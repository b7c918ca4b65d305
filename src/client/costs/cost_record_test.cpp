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

class CostRecordTest : public ::testing::Test {
 protected:
  CostRecordTest() {
    char name[] = "/tmp/millrace-costs-XXXXXX";
    folder_ = ::mkdtemp(name);
    directory_ = folder_ + "/deep/er/millrace";
    for (std::size_t i = 0; i < names.size(); ++i)
      if (const char* value = std::getenv(names[i])) before_[i] = value;
    ::setenv("XDG_CACHE_HOME", (folder_ + "/deep/er").c_str(), 1);
  }
  // Puts back the environment, which other tests of this process read.
  ~CostRecordTest() override {
    for (std::size_t i = 0; i < names.size(); ++i)
      before_[i] ? ::setenv(names[i], before_[i]->c_str(), 1) : ::unsetenv(names[i]);
    std::filesystem::remove_all(folder_);
  }

  void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
  std::string text_of(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  static constexpr std::array names = {"HOME", "XDG_CACHE_HOME"};
  std::string folder_, directory_;
  std::array<std::optional<std::string>, names.size()> before_;
};

TEST_F(CostRecordTest, WhatIsStoredIsLoaded) {
  Costs costs = typical_costs();
  costs.call_ps = 77;
  const std::string record = cost_record(directory_, "ext4 /dev/x");
  ASSERT_TRUE(store_costs(record, "ext4 /dev/x", costs).ok());
  Costs found;
  ASSERT_TRUE(load_costs(record, found));
  EXPECT_EQ(to_text(found), to_text(costs));
  EXPECT_NE(cost_record(directory_, "ext4 /dev/y"), record);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_), {}), 1) << "nothing else";
}

TEST_F(CostRecordTest, ARecordThatIsCutOrNonsenseIsNone) {
  const std::string record = cost_record(directory_, "a b");
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
  ::setenv("XDG_CACHE_HOME", "/dev/null", 1);
  EXPECT_FALSE(store_costs(cost_record(cost_directory(), "a b"), "a b", Costs()).ok());
}

TEST_F(CostRecordTest, AHomeThatDoesNotExistGetsNoRecord) {
  ::unsetenv("XDG_CACHE_HOME");
  ::setenv("HOME", folder_.c_str(), 1);
  EXPECT_EQ(cost_directory(), folder_ + "/.cache/millrace");
  ::setenv("HOME", (folder_ + "/none").c_str(), 1);
  EXPECT_EQ(cost_directory(), "");
}

TEST_F(CostRecordTest, TheBookGoesByTheRecordsAndMakesNone) {
  CostBook book;
  EXPECT_EQ(book.of("ext4 /dev/vda1").start_ps, Costs::start_of_an_agent_ps);
  EXPECT_FALSE(std::filesystem::exists(directory_));
  Costs costs = typical_costs();
  costs.byte_ps = 999;
  ASSERT_TRUE(store_costs(cost_record(cost_directory(), "ext4 /dev/vdb1"), "ext4 /dev/vdb1", costs).ok());
  EXPECT_EQ(book.of("ext4 /dev/vdb1").byte_ps, 999U);
  EXPECT_EQ(book.of("ext4 /dev/vda1").byte_ps, typical_costs().byte_ps);
  EXPECT_EQ(book.of("").byte_ps, typical_costs().byte_ps) << "a file system without a name";
}

}  // namespace
}  // namespace millrace::client
