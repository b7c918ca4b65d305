// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "report/trace_file.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "report/line_file.hpp"

namespace millrace::report {
namespace {

class Files : public ::testing::Test {
 protected:
  Files() {
    std::string name = ::testing::TempDir() + "report.XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~Files() override { std::filesystem::remove_all(folder_); }

  static std::string content(const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  std::filesystem::path only_file() const {
    const auto files = std::filesystem::directory_iterator(folder_);
    EXPECT_EQ(std::distance(begin(files), end(files)), 1);
    return std::filesystem::directory_iterator(folder_)->path();
  }

  std::string folder_;
};

using TraceFileTest = Files;
using LineFileTest = Files;

TEST_F(TraceFileTest, can_be_read_at_any_time) {
  TraceFile trace(folder_, "millrace-agent", "agent");
  ASSERT_TRUE(trace.on());
  trace.name_row(2, "out.nc: sync");
  trace.span(2, "sync", 1'000, 3'500, JsonObject().put("bytes", 4096));
  trace.fact("dropped_spans", JsonObject().put("count", 3));
  trace.flush();
  EXPECT_TRUE(only_file().filename().string().starts_with("millrace-agent-"));
  std::string text = content(only_file());
  text.erase(text.rfind(','));
  const auto events = nlohmann::json::parse(text + "]");
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events[0]["args"]["name"], "agent");
  EXPECT_EQ(events[1]["tid"], 2);
  EXPECT_EQ(events[2]["ts"], 1.0);
  EXPECT_EQ(events[2]["dur"], 2.5);
  EXPECT_EQ(events[2]["args"]["bytes"], 4096);
  EXPECT_EQ(events[3]["args"]["count"], 3);
}

TEST_F(TraceFileTest, keeps_little_in_memory) {
  TraceFile trace(folder_, "t", "rank 0");
  for (int i = 0; i < 2000; ++i) trace.span(1, "write", 0, 1, JsonObject());
  EXPECT_GT(content(only_file()).size(), 64U * 1024);
}

TEST_F(TraceFileTest, without_a_directory_there_is_no_file) {
  TraceFile trace;
  trace.span(1, "write", 0, 1, JsonObject());
  trace.flush();
  EXPECT_FALSE(trace.on());
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(LineFileTest, lines_are_appended) {
  append_line(folder_ + "/log", "one");
  append_line(folder_ + "/log", "two");
  EXPECT_EQ(content(folder_ + "/log"), "one\ntwo\n");
}

TEST_F(LineFileTest, a_directory_has_a_file_for_each_node) {
  append_line(folder_, "{}");
  EXPECT_EQ(only_file().extension(), ".jsonl");
  EXPECT_EQ(content(only_file()), "{}\n");
}

TEST_F(LineFileTest, what_cannot_be_written_is_no_error) {
  append_line("", "nothing");
  append_line(folder_ + "/no/such/folder", "nothing");
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST(TimeStamp, is_iso_8601_in_utc) {
  EXPECT_TRUE(std::regex_match(time_stamp(), std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)")));
}

}  // namespace
}  // namespace millrace::report
