// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "journal/inspect.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "journal/test_journal.hpp"

namespace millrace::journal {
namespace {

// A file with these bytes. The destructor removes it.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::span<const std::byte> bytes)
      : path_(testing::TempDir() + "millrace-inspect-" + unique()) {
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  static std::string unique() {
    const auto* const test = testing::UnitTest::GetInstance();
    return std::string(test->current_test_info()->name()) + "-" + std::to_string(test->random_seed());
  }
  std::string path_;
};

struct Ran {
  int status;
  std::string out;
  std::string error;
};

Ran run(const std::string& file, bool json = false) {
  std::ostringstream out;
  std::ostringstream error;
  const int status = inspect(file, json, out, error);
  return {status, out.str(), error.str()};
}

std::vector<std::byte> journal_bytes() {
  TestJournal journal;
  journal.append(100, "hello");
  journal.append(0, "world");
  journal.commit();
  journal.finish();
  return journal.bytes();
}

TEST(Inspect, TextSaysWhatIsThere) {
  const TemporaryFile file(journal_bytes());
  const Ran ran = run(file.path());
  EXPECT_EQ(ran.status, 0) << ran.error;
  for (const char* part : {"/data/out.h5", "records         2", "ledger", "state           open", "[0,105]",
                           "clean", "2023-11-14", "\"handle\":11"}) {
    EXPECT_NE(ran.out.find(part), std::string::npos) << part << "\n" << ran.out;
  }
}

TEST(Inspect, JsonCanBeParsed) {
  const TemporaryFile file(journal_bytes());
  const Ran ran = run(file.path(), true);
  EXPECT_EQ(ran.status, 0);
  const auto document = nlohmann::json::parse(ran.out);
  EXPECT_EQ(document["health"], "clean");
  EXPECT_EQ(document["records"], 2);
  EXPECT_EQ(document["committed"], true);
  EXPECT_EQ(document["kind"], "ledger");
  EXPECT_EQ(document["state"], "open");
  EXPECT_EQ(document["target"]["inode"], 9);
  EXPECT_EQ(document["target"]["birth_ns"], 10);
  EXPECT_EQ(document["target"]["handle"], 11);
}

TEST(Inspect, CorruptionFailsAndNamesTheByte) {
  std::vector<std::byte> bytes = journal_bytes();
  bytes[sizeof(Start) + record_bytes(5) + 4] ^= std::byte{1};
  const TemporaryFile file(bytes);
  const Ran ran = run(file.path());
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.error.find("corrupt"), std::string::npos);
  EXPECT_NE(ran.error.find("4672"), std::string::npos) << ran.error;
}

TEST(Inspect, TornTailIsToldAndIsSound) {
  std::vector<std::byte> bytes = journal_bytes();
  bytes.resize(bytes.size() - 5);
  const TemporaryFile file(bytes);
  const Ran ran = run(file.path());
  EXPECT_EQ(ran.status, 0);
  EXPECT_NE(ran.out.find("torn"), std::string::npos);
}

TEST(Inspect, AnotherFileIsNotAJournal) {
  const TemporaryFile file(std::as_bytes(std::span("#!/bin/sh\n")));
  const Ran ran = run(file.path());
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.error.find("not a Millrace journal"), std::string::npos);
}

TEST(Inspect, AFileThatCannotBeReadIsTold) {
  EXPECT_EQ(run("/nonexistent/journal").status, 2);
  EXPECT_EQ(run("/").status, 2) << "a folder";
}

}  // namespace
}  // namespace millrace::journal
