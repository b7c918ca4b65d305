// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Tests with ranks and an agent as real processes: the way that a file's bytes take.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "client/file/own_pieces.hpp"
#include "client/open/testing/ranks.hpp"
#include "client/view/view.hpp"
#include "transport/memory.hpp"
#include "transport/socket.hpp"

namespace millrace::client {
namespace {

using testing::create;
using testing::Job;
using testing::open_file;
using testing::Step;
using testing::write_range;

// A file that is opened as programs open it: with the costs of a start.
std::unique_ptr<File> open_with_costs(const std::string& path, std::uint32_t members) {
  return open({.path = path,
               .group = 1,
               .members = members,
               .settings = process_settings().file,
               .costs = typical_costs(),
               .factors = history().of(path).factors});
}

constexpr int many = 300'000;

// The number of the small writes that go to the library before one takes the pipeline.
int small_writes_before_the_pipeline(File& file, bool reads) {
  for (int i = 0; i < many; ++i) {
    const Extent extent{std::uint64_t(i) * 256, std::uint64_t(i + 1) * 256};
    if (file.enter_pipeline({.bytes = 256, .pieces = 1, .calls = 1})) return i;
    if (!file.flush(Before::write, extent).ok()) return -1;
    if (reads && !file.flush(Before::read, extent).ok()) return -1;
    // On a busy machine an agent may take seconds to start.
    if (!reads && i > 10'000) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return many;
}

TEST(Ways, AFileEntersThePipelineOnceAndAllRanksOfTheNodeFollow) {
  Job job("enter");
  const std::string path = job.path("data");
  create(path);
  const Step measured, entered, followed;
  const pid_t first = job.start([&] {
    auto file = open_with_costs(path, 2);
    RANK_CHECK(measured.await());
    const int before = small_writes_before_the_pipeline(*file, false);
    RANK_CHECK(before > 10 && before < many);
    entered.reach();
    RANK_CHECK(followed.await());
    for (int i = 0; i < 100; ++i) {
      RANK_CHECK(write_range(*file, 1, 0, 100, 100) == 0);
      RANK_CHECK(file->flush(Before::read, {0, 100}).ok());
      RANK_CHECK(file->enter_pipeline({.bytes = 256, .pieces = 1, .calls = 1}));
    }
    return file->close().ok() ? 0 : 1;
  });
  const pid_t second = job.start([&] {
    auto file = open_with_costs(path, 2);
    for (int i = 0; i < 200; ++i) {  // its own calls take nearly no time
      RANK_CHECK(!file->enter_pipeline({.bytes = 256, .pieces = 1, .calls = 1}));
      file->stop_timing(file->start_timing());
    }
    measured.reach();
    RANK_CHECK(entered.await());
    const int before = small_writes_before_the_pipeline(*file, false);
    followed.reach();
    RANK_CHECK(before == 0);
    return file->close().ok() ? 0 : 1;
  });
  EXPECT_EQ(job.wait(first), 0);
  EXPECT_EQ(job.wait(second), 0);
}

TEST(Ways, TheNextFileOfASeriesBeginsWithWhatTheLibrarysCallsTookOnTheLastOne) {
  Job job("series");
  for (const char* name : {"first", "dump.1", "dump.2", "other"}) create(job.path(name));
  const pid_t rank = job.start([&] {
    const auto first = open_with_costs(job.path("first"), 1);
    RANK_CHECK(small_writes_before_the_pipeline(*first, false) < many);  // from now on an agent runs
    const auto last = open_with_costs(job.path("dump.1"), 1);
    for (int i = 0; i < 20; ++i) {
      RANK_CHECK(!last->enter_pipeline({.bytes = 256, .pieces = 1, .calls = 1}));
      last->stop_timing(1);  // since long ago
    }
    RANK_CHECK(last->close().ok());
    const auto guest = open(guest_of(job.path("dump.1"), process_settings().file));
    guest->counts().moved_by_library(256);  // by a call that nobody has measured
    RANK_CHECK(guest->close().ok());
    const auto next = open_with_costs(job.path("dump.2"), 1), other = open_with_costs(job.path("other"), 1);
    const int known = small_writes_before_the_pipeline(*next, false);
    const int unknown = small_writes_before_the_pipeline(*other, false);
    RANK_CHECK(known > 0 && 3 * known < 2 * unknown);
    return 0;
  });
  EXPECT_EQ(job.wait(rank), 0);
}

TEST(Ways, TheNextFileOfASeriesBeginsWithWhatTheAgentsWorkTookOnTheLastOne) {
  Job job("series-agent");
  for (const char* name : {"dump.1", "dump.2"}) create(job.path(name));
  const pid_t rank = job.start([&] {
    for (int i = 0; i < 2; ++i) {  // the first time, the agent may need new memory
      const auto last = open_file(job.path("dump.1"));
      RANK_CHECK(write_range(*last, 1, 0, MiB, 1000) == 0);
      RANK_CHECK(last->close().ok());
    }
    const Factors known = history().of(job.path("dump.2")).factors;
    RANK_CHECK(known.library == 0 && known.agent != 0);
    return open_with_costs(job.path("dump.2"), 1)->close().ok() &&
                   history().of(job.path("dump.2")).factors.agent == known.agent
               ? 0
               : 1;
  });
  EXPECT_EQ(job.wait(rank), 0);
}

// The agent's program takes half a second to start.
TEST(Ways, TheStartOfAnAgentDelaysNoWrite) {
  Job job("slow-start");
  const std::string path = job.path("data"), program = job.path("program");
  create(path);
  std::ofstream(program) << "#!/bin/sh\nsleep 0.5\nexec \"$REAL_AGENT\" \"$@\"\n";
  ::chmod(program.c_str(), 0700);
  EXPECT_EQ(job.run([&] {
    ::setenv("REAL_AGENT", ::getenv("MILLRACE_AGENT"), 1);
    ::setenv("MILLRACE_AGENT", program.c_str(), 1);
    auto file = open_with_costs(path, 1);
    const Transfer small{.bytes = 256, .pieces = 1, .calls = 1};
    const std::uint64_t begin_ns = transport::now_ns();
    std::uint64_t before_ns = begin_ns, longest_ns = 0, writes = 0;
    for (bool entered = false; !entered; ++writes) {
      RANK_CHECK(before_ns - begin_ns < 20'000'000'000);
      RANK_CHECK(::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD);  // the program has no child
      entered = file->enter_pipeline(small);
      const std::uint64_t now_ns = transport::now_ns();
      if (!entered) longest_ns = std::max(longest_ns, now_ns - before_ns);
      before_ns = now_ns;
    }
    RANK_CHECK(before_ns - begin_ns > 400'000'000);
    RANK_CHECK(writes > 10'000);
    RANK_CHECK(longest_ns < 300'000'000);
    return file->close().ok() ? 0 : 1;
  }),
            0);
}

// The other ranks' pieces would have holes where its pieces belong.
TEST(Ways, AWriteThatAloneIsWorthAnAgentWaitsForIt) {
  Job job("worth");
  const std::string path = job.path("data");
  create(path);
  EXPECT_EQ(job.run([&] {
    auto file = open_with_costs(path, 8);
    RANK_CHECK(file->enter_pipeline({.bytes = 16 * MiB, .pieces = 4096, .calls = 4096}));
    return file->close().ok() ? 0 : 1;
  }),
            0);
}

TEST(Ways, AnAgentThatTakesTooLongToStartIsEndedAndHoldsNothingOfTheProgram) {
  Job job("stuck-start", {"MILLRACE_TIMEOUT=300ms"});
  const std::string path = job.path("data"), program = job.path("program"), pid = job.path("pid");
  create(path);
  std::ofstream(program) << "#!/bin/sh\necho $$ > " << pid << "\nsleep 1000\n";
  ::chmod(program.c_str(), 0700);
  EXPECT_EQ(job.run([&] {
    ::setenv("MILLRACE_AGENT", program.c_str(), 1);
    int ends[2];
    RANK_CHECK(::pipe(ends) == 0);
    auto file = open_with_costs(path, 1);
    const Transfer small{.bytes = 256, .pieces = 1, .calls = 1};
    const std::uint64_t begin_ns = transport::now_ns();
    bool held = false;
    while (transport::now_ns() - begin_ns < 1'000'000'000) {
      RANK_CHECK(!file->enter_pipeline(small));
      RANK_CHECK(file->flush(Before::write, {0, 256}).ok());
      if (held || testing::contents(pid).empty()) continue;
      held = true;
      ::close(ends[1]);
      RANK_CHECK(transport::hung_up(ends[0]));
    }
    RANK_CHECK(held);
    return file->close().ok() ? 0 : 1;
  }),
            0);
  const auto text = testing::contents(pid);
  const std::string number(reinterpret_cast<const char*>(text.data()), text.size());
  EXPECT_TRUE(Job::ends_within(std::atoi(number.c_str()), 20));
}

TEST(Ways, AFileThatIsReadAfterEveryWriteNeverEntersThePipeline) {
  Job job("stays");
  const std::string path = job.path("data");
  create(path);
  EXPECT_EQ(job.run([&] {
    auto file = open_with_costs(path, 1);
    RANK_CHECK(small_writes_before_the_pipeline(*file, true) == many);
    return file->close().ok() ? 0 : 1;
  }),
            0);
}

TEST(Ways, AFileWithALargePieceAfterEverySmallOneNeverEntersThePipeline) {
  Job job("mixed");
  const std::string path = job.path("data");
  create(path);
  EXPECT_EQ(job.run([&] {
    auto file = open_with_costs(path, 1);
    for (int i = 0; i < many; ++i) {
      RANK_CHECK(!file->enter_pipeline({.bytes = 256, .pieces = 1, .calls = 1}));
      RANK_CHECK(!file->enter_pipeline({.bytes = 64 * KiB, .pieces = 1, .calls = 1}));
    }
    return file->close().ok() ? 0 : 1;
  }),
            0);
}

// The descriptors of this process that are of the file, without those that cannot transfer bytes.
std::vector<int> descriptors_of(const std::string& path) {
  std::vector<int> found;
  for (const std::string& name : testing::files_of("/proc/self/fd")) {
    const int fd = std::stoi(name.substr(name.rfind('/') + 1));
    std::error_code gone;
    if (std::filesystem::read_symlink(name, gone) == path && (::fcntl(fd, F_GETFL) & O_PATH) == 0)
      found.push_back(fd);
  }
  return found;
}

// The agent gets a rank's descriptor, and locks belong to the open file description.
TEST(Ways, ARankSievesByAnotherOpenFileDescriptionThanTheAgent) {
  Job job("description");
  const std::string path = job.path("data");
  create(path);
  EXPECT_EQ(job.run([&] {
    auto file = open_file(path);
    RANK_CHECK(write_range(*file, 1, 0, 100, 100) == 0);
    const std::vector<int> sent = descriptors_of(path);
    RANK_CHECK(sent.size() == 1);
    const FileView view;
    const std::byte data{};
    PieceSource source(view, 0, view.filetype(), &data, 1);
    Status status;
    RANK_CHECK(file->own_pieces()->write(source, {.window = MiB, .gap = 1}, status) && status.ok());
    int others = 0;
    for (const int fd : descriptors_of(path))
      others += ::syscall(SYS_kcmp, ::getpid(), ::getpid(), 0 /* KCMP_FILE */, fd, sent.front()) != 0 ? 1 : 0;
    RANK_CHECK(others == 1);
    return file->close().ok() ? 0 : 1;
  }),
            0);
}

}  // namespace
}  // namespace millrace::client
