// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Counts allocations and system calls: a record costs neither.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <new>
#include <string>
#include <vector>

#include "client/session/testing/null_agent.hpp"

namespace {
std::size_t allocations = 0;
}

// Sanitizers have allocators of their own, and make system calls.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool countable = false;
#else
constexpr bool countable = true;
void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif

namespace millrace::client {
namespace {

Status write_records(testing::NullAgent& agent, int records) {
  std::byte data[256] = {};
  Tally tally;
  for (int i = 0; i < records; ++i) {
    const Piece piece{static_cast<std::uint64_t>(i) * 256, data, sizeof data};
    if (Status status = agent.session->write(0, {&piece, 1}, 32 * KiB, tally); !status.ok()) return status;
    if (i % 256 == 0) agent.take_all();
  }
  return {};
}

// Makes calls with many small pieces and one large piece between them.
Status write_bundles(testing::NullAgent& agent, int calls) {
  const std::vector<std::byte> data(4096);
  std::vector<Piece> pieces;
  pieces.reserve(100);
  for (std::uint64_t i = 0; i < 100; ++i) pieces.push_back({i * 8192, data.data(), i == 50 ? 4096U : 12U});
  Tally tally;
  const std::size_t before = allocations;
  for (int i = 0; i < calls; ++i) {
    if (Status status = agent.session->write(0, pieces, 32 * KiB, tally); !status.ok()) return status;
    if (i % 16 == 0) agent.take_all();
  }
  return allocations == before ? Status() : Status(Code::no_memory);
}

TEST(Cost, NoAllocationPerRecord) {
  if (!countable) GTEST_SKIP() << "not under a sanitizer";
  testing::NullAgent agent;
  ASSERT_TRUE(write_records(agent, 10).ok());
  ASSERT_TRUE(write_bundles(agent, 10).ok());
  const std::size_t before = allocations;
  ASSERT_TRUE(write_records(agent, 100'000).ok());
  EXPECT_EQ(allocations, before);
  EXPECT_TRUE(write_bundles(agent, 1000).ok());
}

// The test below runs this test under strace. COST_RECORDS has the number of records.
TEST(Cost, WritesRecordsForTheCounter) {
  const char* records = std::getenv("COST_RECORDS");
  if (records == nullptr) GTEST_SKIP() << "only run by Cost.NoSystemCallPerRecord";
  testing::NullAgent agent;
  ASSERT_TRUE(write_records(agent, std::atoi(records)).ok());
}

// Counts the system calls of a whole run that writes this many records; -1 if they cannot be counted.
long system_calls(int records) {
  const std::string output = "/tmp/millrace-cost-" + std::to_string(::getpid());
  const std::string command = "COST_RECORDS=" + std::to_string(records) + " strace -f -c -o " + output +
                              " /proc/" + std::to_string(::getpid()) +
                              "/exe --gtest_filter=Cost.WritesRecordsForTheCounter >/dev/null 2>&1";
  const int result = std::system(command.c_str());
  long calls = -1;
  std::ifstream file(output);
  for (std::string line; std::getline(file, line);) {
    double percent = 0, seconds = 0;
    long per_call = 0, count = 0;
    if (line.find("total") != std::string::npos &&
        std::sscanf(line.c_str(), "%lf %lf %ld %ld", &percent, &seconds, &per_call, &count) == 4) {
      calls = count;
    }
  }
  ::unlink(output.c_str());
  return result == 0 ? calls : -1;
}

TEST(Cost, NoSystemCallPerRecord) {
  if (!countable) GTEST_SKIP() << "not under a sanitizer";
  const long few = system_calls(1'000);
  if (few < 0) GTEST_SKIP() << "strace is not there, or may not trace";
  const long many = system_calls(101'000);
  ASSERT_GT(many, 0);
  EXPECT_LT(many - few, 50) << "100,000 more records";
}

}  // namespace
}  // namespace millrace::client
