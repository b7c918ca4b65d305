// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/open/measure_costs.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>

#include "client/open/costs_program.hpp"

namespace millrace::client {
namespace {

class MeasureCostsTest : public ::testing::Test {
 protected:
  MeasureCostsTest() {
    char name[] = "/tmp/millrace-measure-XXXXXX";
    folder_ = ::mkdtemp(name);
    if (const char* value = std::getenv("XDG_CACHE_HOME")) before_ = value;
    ::setenv("XDG_CACHE_HOME", (folder_ + "/costs").c_str(), 1);
  }
  ~MeasureCostsTest() override {
    before_ ? ::setenv("XDG_CACHE_HOME", before_->c_str(), 1) : ::unsetenv("XDG_CACHE_HOME");
    std::filesystem::remove_all(folder_);
  }
  int run(const std::vector<std::string>& arguments) {
    out_.str("");
    errors_.str("");
    return costs_program(arguments, out_, errors_);
  }

  std::string folder_;
  std::optional<std::string> before_;  // XDG_CACHE_HOME, which other tests of this process read
  std::ostringstream out_, errors_;
};

TEST_F(MeasureCostsTest, WhatIsMeasuredIsSaneAndNothingIsLeft) {
  const Result<Costs> costs = measure_costs(folder_);
  ASSERT_TRUE(costs.ok()) << costs.status().describe();
  Costs again;
  EXPECT_TRUE(parse(to_text(*costs), again)) << "in range: " << to_text(*costs);
  EXPECT_GE(costs->call_ps, 100'000U);
  EXPECT_GT(costs->start_ps, costs->trip_ps);
  EXPECT_GT(costs->trip_ps, 1U);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

// True if the process has a file of this folder open, with or without a name.
bool has_open(pid_t process, const std::string& folder) {
  std::error_code gone;
  for (const auto& one :
       std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/fd", gone)) {
    const std::filesystem::path target = std::filesystem::read_symlink(one, gone);
    if (target.string().starts_with(folder + "/")) return true;
  }
  return false;
}

TEST_F(MeasureCostsTest, AKilledMeasurementLeavesNothing) {
  bool killed = false;
  for (int attempt = 0; attempt < 20 && !killed;
       ++attempt) {  // the measurement may end before the test sees it
    const pid_t measuring = ::fork();
    if (measuring == 0) ::_exit(measure_costs(folder_).ok() ? 0 : 1);
    ASSERT_GT(measuring, 0);
    int status = 0;
    pid_t ended = 0;
    while (!has_open(measuring, folder_) && ended == 0) ended = ::waitpid(measuring, &status, WNOHANG);
    if (ended != 0) continue;
    ASSERT_EQ(::kill(measuring, SIGKILL), 0);
    ASSERT_EQ(::waitpid(measuring, &status, 0), measuring);
    killed = WIFSIGNALED(status);
  }
  EXPECT_TRUE(killed);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(MeasureCostsTest, ItIsMeasuredOnceAndAgainWhenAsked) {
  ASSERT_EQ(run({folder_}), 0) << errors_.str();
  EXPECT_NE(out_.str().find("\"measured_now\":true"), std::string::npos) << out_.str();
  EXPECT_NE(out_.str().find("\"break_even_bytes\":"), std::string::npos) << out_.str();
  EXPECT_NE(out_.str().find("\"break_even_synced_bytes\":"), std::string::npos) << out_.str();
  const std::string numbers = out_.str().substr(out_.str().find("call_ps"));
  ASSERT_EQ(run({folder_}), 0);
  EXPECT_NE(out_.str().find("\"measured_now\":false"), std::string::npos);
  EXPECT_EQ(out_.str().substr(out_.str().find("call_ps")), numbers);
  ASSERT_EQ(run({"--measure", folder_}), 0);
  EXPECT_NE(out_.str().find("\"measured_now\":true"), std::string::npos);
}

TEST_F(MeasureCostsTest, BadUseIsSaid) {
  EXPECT_EQ(run({}), 2);
  EXPECT_EQ(run({"--all", folder_}), 2);
  EXPECT_EQ(run({"/no/such/folder"}), 1);
  EXPECT_NE(errors_.str().find("/no/such/folder"), std::string::npos);
  ::setenv("XDG_CACHE_HOME", "/dev/null", 1);
  EXPECT_EQ(run({folder_}), 0) << "measured, and not kept";
  EXPECT_NE(errors_.str().find("not recorded: /dev/null"), std::string::npos) << errors_.str();
}

}  // namespace
}  // namespace millrace::client
