// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "plain/notes.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "plain/early.hpp"
#include "plain/engine.hpp"

namespace millrace::plain {
namespace {

std::vector<std::string> lines;

constexpr Calls calls{
    .pwrite = [](int, const void*, std::size_t bytes, off_t) { return static_cast<ssize_t>(bytes); },
    .lseek = [](int, off_t, int) -> off_t { return -1; },
    .start_writeback = [](int, off_t, off_t) { return 0; },
    .regular = [](int) { return true; },
    .path_of = [](int fd, char* path,
                  std::size_t size) { return std::snprintf(path, size, "/data/\"%d\"", fd) > 0; },
    .append_report = [](char* line, std::size_t bytes) { lines.emplace_back(line, bytes); },
};

class NotesTest : public testing::Test {
 protected:
  void SetUp() override {
    lines.clear();
    ::setenv("MILLRACE_STATS", "/tmp/x", 1);
  }
  void TearDown() override { ::unsetenv("MILLRACE_STATS"); }
};

TEST_F(NotesTest, CountsAreOfOneDescriptorUntilItsClose) {
  Notes notes;
  notes.wrote(3, 10);
  notes.wrote(4, 5);
  notes.wrote(3, 10);
  notes.went_early(3, 15);
  notes.went_behind(4, 5);
  const Noted three = notes.take(3);
  EXPECT_EQ(three.bytes, 20);
  EXPECT_EQ(three.early_bytes, 15);
  EXPECT_EQ(notes.take(3).bytes, 0) << "taken";
  EXPECT_EQ(notes.take(4).behind_bytes, 5);
}

TEST_F(NotesTest, WithoutTheVariableNothingIsCounted) {
  ::unsetenv("MILLRACE_STATS");
  Notes notes;
  notes.wrote(3, 10);
  EXPECT_FALSE(notes.on());
  EXPECT_EQ(notes.take(3).bytes, 0);
}

TEST_F(NotesTest, ThreadsLoseNoBytes) {
  Notes notes;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&notes] {
      for (int n = 0; n < 10'000; ++n) notes.wrote(n % 8, 1);
    });
  for (std::thread& one : threads) one.join();
  std::uint64_t sum = 0;
  for (int fd = 0; fd < 8; ++fd) sum += notes.take(fd).bytes;
  EXPECT_EQ(sum, 40'000);
}

TEST_F(NotesTest, MoreFilesThanSlotsAreLeftOutAndHarmless) {
  Notes notes;
  for (int fd = 0; fd < 2 * static_cast<int>(Notes::slots); ++fd) notes.wrote(fd, 1);
  std::uint64_t sum = 0;
  for (int fd = 0; fd < 2 * static_cast<int>(Notes::slots); ++fd) sum += notes.take(fd).bytes;
  EXPECT_EQ(sum, Notes::slots);
}

TEST_F(NotesTest, AChildHasNoCountsOfItsParent) {
  Notes notes;
  notes.wrote(3, 10);
  const pid_t child = ::fork();
  if (child == 0) {
    notes.wrote(3, 1);
    ::_exit(notes.take(3).bytes == 1 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(notes.take(3).bytes, 10);
}

TEST_F(NotesTest, ACloseReportsTheFileAndTheReason) {
  Engine engine(calls);
  engine.wrote(3, 0, 1 << 20);
  errno = EDOM;
  engine.closing(3);
  EXPECT_EQ(errno, EDOM);
  engine.closing(3);
  ASSERT_EQ(lines.size(), 1);
  EXPECT_EQ(lines[0].find(R"({"schema":1,"kind":"plain","path":"/data/\"3\"","pid":)"), 0) << lines[0];
  EXPECT_NE(lines[0].find(
                R"("bytes":1048576,"early_bytes":0,"behind_bytes":0,"reason":"the program had not synced)"),
            std::string::npos)
      << lines[0];
  EXPECT_TRUE(lines[0].ends_with(R"("setting":""})")) << lines[0];
}

TEST_F(NotesTest, FilesThatStayOpenAreReportedAtTheEnd) {
  Engine engine(calls);
  engine.wrote(3, 0, 1);
  engine.wrote(5, 0, 2);
  engine.leaving();
  EXPECT_EQ(lines.size(), 2);
}

TEST_F(NotesTest, BytesThatGoEarlyAreCounted) {
  Engine engine(calls);
  engine.wrote(4, 0, 8 << 20);
  engine.synced(4);
  engine.wrote(3, 0, 3 << 20);
  engine.closing(3);
  ASSERT_EQ(lines.size(), 1);
  EXPECT_NE(lines[0].find(R"("early_bytes":3145728)"), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find("early writeback: the program syncs its files"), std::string::npos) << lines[0];
}

TEST_F(NotesTest, TheReasonIsThatOfTheTimeOfTheWrites) {
  Engine engine(calls);
  engine.wrote(3, 0, 8 << 20);
  engine.synced(3);  // from now on early writeback is on
  engine.closing(3);
  engine.wrote(4, 0, 1 << 20);
  engine.closing(4);
  ASSERT_EQ(lines.size(), 2);
  EXPECT_NE(lines[0].find("had not synced"), std::string::npos) << lines[0];
  EXPECT_NE(lines[1].find("fewer than 2 MiB"), std::string::npos) << lines[1];
}

TEST_F(NotesTest, ALineHasRoomOrIsNotWritten) {
  const std::string path(3000, 'x');
  char line[line_max];
  EXPECT_EQ(describe({.bytes = 1}, path.c_str(), "w", "s", line, sizeof line), 0);
  const std::string controls(path_max, '\n');
  EXPECT_EQ(describe({.bytes = 1}, controls.c_str(), "w", "s", line, sizeof line), 0);
  EXPECT_GT(describe({.bytes = 1}, std::string(path_max, 'x').c_str(), "w", "s", line, sizeof line),
            path_max);
}

}  // namespace
}  // namespace millrace::plain
