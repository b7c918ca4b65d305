// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Tests which file an open means, and when the agent has a part in it.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "client/open/testing/ranks.hpp"

namespace {
std::atomic<int> datasyncs{0};  // of this process
std::atomic<int> synced{-1};    // the descriptor of the last one
}  // namespace
extern "C" int fdatasync(int fd) {
  datasyncs += 1;
  synced = fd;
  return static_cast<int>(::syscall(SYS_fdatasync, fd));
}

namespace millrace::client {
namespace {

using testing::contents;
using testing::create;
using testing::Job;
using testing::open_file;
using testing::pattern;
using testing::write_range;

TEST(File, AFileIsTheOneThatWasOpenedWhereverTheProgramGoes) {
  Job job("place");
  const std::string path = job.path("data"), folder = job.path("elsewhere");
  ASSERT_EQ(::mkdir(folder.c_str(), 0755), 0);
  create(path);
  create(folder + "/data");
  EXPECT_EQ(job.run([&] {
    RANK_CHECK(::chdir(path.substr(0, path.rfind('/')).c_str()) == 0);
    auto file = open_file("data");
    RANK_CHECK(::chdir(folder.c_str()) == 0);
    RANK_CHECK(write_range(*file, 7, 0, 10'000, 100) == 0);
    RANK_CHECK(file->close().ok());
    return 0;
  }),
            0);
  EXPECT_EQ(contents(path), pattern(7, 0, 10'000));
  EXPECT_TRUE(contents(folder + "/data").empty());
}

TEST(File, AFileWithAnotherNameByNowIsStillTheOneThatWasOpened) {
  Job job("replaced");
  const std::string path = job.path("data");
  create(path);
  EXPECT_EQ(job.run([&] {
    auto file = open_file(path);
    RANK_CHECK(::rename(path.c_str(), (path + ".old").c_str()) == 0);
    create(path);
    RANK_CHECK(write_range(*file, 5, 0, 10'000, 100) == 0);
    RANK_CHECK(file->close().ok());
    return 0;
  }),
            0);
  EXPECT_EQ(contents(path + ".old"), pattern(5, 0, 10'000));
  EXPECT_TRUE(contents(path).empty());
}

TEST(File, AFileWithoutANameIsLeftToTheLibrary) {
  Job job("unlinked");
  const std::string path = job.path("data");
  create(path);
  EXPECT_EQ(job.run([&] {
    auto file = open_file(path);
    RANK_CHECK(::unlink(path.c_str()) == 0);
    RANK_CHECK(!file->enter_pipeline({100, 1, 1}));
    RANK_CHECK(file->close().ok());
    return 0;
  }),
            0);
}

TEST(File, TheAgentIsNotAskedAboutFilesThatNobodyWroteThroughIt) {
  Job job("unknown");
  const std::string path = job.path("data"), other = job.path("other");
  create(path);
  create(other);
  EXPECT_EQ(job.run([&] {
    auto file = open_file(path);
    RANK_CHECK(write_range(*file, 3, 0, 1000, 100) == 0);
    auto quiet = open_file(other, 2);
    RANK_CHECK(quiet->flush(Before::read).ok());
    RANK_CHECK(quiet->sync().ok());
    RANK_CHECK(!quiet->registered());
    // A second open of a file with pending bytes asks the agent, even if another process wrote the bytes.
    auto again = open_file(path, 2);
    RANK_CHECK(again->flush(Before::read).ok());
    RANK_CHECK(again->registered());
    RANK_CHECK(contents(path).size() == 1000);
    return 0;
  }),
            0);
}

TEST(File, DurabilityDiskHoldsForWhatTheLibraryWroteToo) {
  for (const std::string durability : {"disk", "server"}) {
    Job job("durable", {"MILLRACE_DURABILITY=" + durability});
    const std::string path = job.path("data");
    create(path);
    EXPECT_EQ(job.run([&] {
      auto file = open_file(path);
      RANK_CHECK(!file->enter_pipeline({4 * MiB, 1, 1}));
      file->note_direct_write({0, 4 * MiB});
      RANK_CHECK(datasyncs == 0);
      RANK_CHECK(file->close().ok());
      RANK_CHECK(datasyncs == (durability == "disk" ? 1 : 0));
      return 0;
    }),
              0);
  }
}

// This holds for any strategy and durability.
TEST(File, AFileThatIsLeftToTheLibraryIsNeverTheAgentsAndIsDurableAtClose) {
  for (const std::string durability : {"disk", "node", "server"}) {
    Job job("left", {"MILLRACE_DURABILITY=" + durability, "MILLRACE_STRATEGY=journal"});
    const std::string path = job.path("data");
    create(path);
    EXPECT_EQ(job.run([&] {
      auto file =
          open({.path = path, .group = 1, .settings = process_settings().file, .left = Reason::other_file});
      RANK_CHECK(!file->enter_pipeline({100, 1, 1}));
      RANK_CHECK(file->flush(Before::write).ok() && file->set_direct({}).ok());
      RANK_CHECK(!file->enter_pipeline({100, 1, 1}));
      RANK_CHECK(!file->registered() && datasyncs == 0);
      RANK_CHECK(file->close().ok());
      RANK_CHECK(datasyncs == (durability == "server" ? 0 : 1));
      return 0;
    }),
              0);
  }
}

// The kernel reports an error in writeback to the descriptors that are open at that time.
TEST(File, WhatIsSyncedAtCloseIsOlderThanTheWrites) {
  for (const bool left : {false, true}) {
    Job job("older", {"MILLRACE_DURABILITY=disk"});
    const std::string path = job.path("data");
    create(path);
    EXPECT_EQ(job.run([&] {
      auto file = open({.path = path,
                        .group = 1,
                        .settings = process_settings().file,
                        .left = left ? Reason::other_file : Reason::none});
      file->counts().moved_by_library(100);
      RANK_CHECK(file->flush(Before::write, {0, 100}).ok());
      int next = 0;
      while (next < 40) next = ::dup(STDERR_FILENO);  // descriptors opened later have higher numbers
      RANK_CHECK(file->close().ok());
      RANK_CHECK(datasyncs == 1 && synced >= 0 && synced < next);
      return 0;
    }),
              0);
  }
}

// The MPI library writes another handle of the file. So this handle flushes its bytes, and then writes past
// the pipeline.
TEST(File, AFileIsBarredForGood) {
  Job job("barred", {"MILLRACE_STRATEGY=sort"});
  const std::string path = job.path("data");
  create(path);
  EXPECT_EQ(job.run([&] {
    auto file = open_file(path);
    RANK_CHECK(write_range(*file, 7, 0, 10'000, 100) == 0);
    RANK_CHECK(file->bar(Reason::other_handle).ok());
    RANK_CHECK(contents(path) == pattern(7, 0, 10'000));
    RANK_CHECK(file->set_direct({}).ok());
    RANK_CHECK(!file->enter_pipeline({100, 1, 1}));
    return 0;
  }),
            0);
}

// The last pending bytes make the size, also after the file was cut.
TEST(File, ItsSizeIsThatWithPendingBytes) {
  Job job("size");
  const std::string path = job.path("data");
  create(path);
  const auto size_is = [&path](File& file, std::uint64_t size) {
    return file.flush(Before::size).ok() && std::filesystem::file_size(path) == size;
  };
  const auto resize = [&path](File& file, std::uint64_t size) {
    return file.flush(Before::resize, {size, everything.end}).ok() &&
           ::truncate(path.c_str(), static_cast<off_t>(size)) == 0;
  };
  EXPECT_EQ(job.run([&] {
    auto file = open_file(path), other = open_file(path);
    RANK_CHECK(write_range(*file, 3, 0, 5 * MiB, 10'000) == 0);
    RANK_CHECK(size_is(*other, 5 * MiB) && size_is(*file, 5 * MiB));
    RANK_CHECK(write_range(*other, 3, 5 * MiB, 6 * MiB, 10'000) == 0);
    RANK_CHECK(size_is(*file, 6 * MiB));
    RANK_CHECK(write_range(*file, 3, 6 * MiB, 7 * MiB, 10'000) == 0);
    RANK_CHECK(resize(*other, 8 * MiB) && size_is(*file, 8 * MiB));
    RANK_CHECK(write_range(*file, 4, 8 * MiB, 9 * MiB, 10'000) == 0);
    RANK_CHECK(resize(*file, 10) && size_is(*file, 10));
    RANK_CHECK(write_range(*other, 5, 10, 20, 10) == 0);
    RANK_CHECK(size_is(*file, 20));
    RANK_CHECK(write_range(*file, 5, 20, 30, 10) == 0);
    return file->close().ok() && other->close().ok() ? 0 : 1;
  }),
            0);
  std::vector<std::byte> all = pattern(3, 0, 10), end = pattern(5, 10, 20);
  all.insert(all.end(), end.begin(), end.end());
  EXPECT_EQ(contents(path), all);
}

}  // namespace
}  // namespace millrace::client
