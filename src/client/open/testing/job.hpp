// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "base/fd.hpp"

namespace millrace::client::testing {

// A job of forked ranks with an agent of its own, in a temporary folder that it removes. The test's own
// process never becomes a client.
class Job {
 public:
  // `environment`: further NAME=VALUE for ranks and agent.
  explicit Job(const std::string& name, std::vector<std::string> environment = {});
  ~Job();

  std::string path(const std::string& file) const { return folder_ + "/" + file; }
  // Forks a rank that runs `body` and exits with its return value.
  pid_t start(const std::function<int()>& body);
  // Returns the exit status of a rank, or -signal if a signal killed it. 999: the rank ran longer than
  // `bound_s` and was killed.
  int wait(pid_t rank, int bound_s = 60);
  int run(const std::function<int()>& body) { return wait(start(body)); }
  // The process of the agent that answers at this job's socket; -1 if there is none.
  pid_t agent() const;
  bool agent_leaves_within(int seconds) const;
  // True if TEST_AGENT names the agent. Such an agent does not obey MILLRACED_FAKE.
  static bool real_agent();
  static bool ends_within(pid_t process, int seconds);
  // Waits until the process has no work, so that every look finds it asleep. False: it had work for a minute.
  static bool falls_asleep(pid_t process);
  std::string socket_name() const;

 private:
  std::string folder_;
  std::string key_;
  std::vector<std::string> environment_;
};

// A step in the order of processes. All processes that Job::start() forks while the object exists share it.
class Step {
 public:
  Step();
  void reach() const;
  // False: no process reaches it within a minute.
  bool await() const;

 private:
  Fd reached_;
};

std::vector<std::byte> contents(const std::string& path);
// Bytes that depend on seed and position: rank `seed` writes them at [offset, offset + size).
std::vector<std::byte> pattern(unsigned seed, std::uint64_t offset, std::size_t size);

}  // namespace millrace::client::testing

// In a rank: ends it with a message unless `condition` holds.
#define RANK_CHECK(condition)                                                            \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      std::fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      return 1;                                                                          \
    }                                                                                    \
  } while (false)
