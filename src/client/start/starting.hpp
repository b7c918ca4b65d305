// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace millrace::client {

// Starts a program as a child of this process, with the descriptor `handed` as number
// transport::handed_socket. Its output goes to this process's stderr.
Result<pid_t> spawn(const std::string& program, const std::vector<std::string>& words, const Fd& handed);

// The start of an agent. The agent is no child of this process: the program neither gets SIGCHLD nor finds
// the agent by wait(), unless the kernel gives this process all orphans (process 1, or a subreaper). Not
// thread safe.
class Starting {
 public:
  // Takes the agent's name and starts the program, without a wait. The name is a lock: only the process that
  // takes it starts the agent, and no stranger can take it afterwards. errno EADDRINUSE: another process has
  // the name. EAGAIN: the limit of processes is reached.
  static Result<Starting> begin(const std::string& program, const std::string& name);

  // True if the agent listens, or does not start. Waits for that, but at most `bound_ms`.
  bool has_ended(std::uint64_t bound_ms = 0) const;
  // After has_ended(): 0 if the agent listens, else the errno that keeps it from that. Code::io: the program
  // has gone without an answer.
  Result<int> answer() const;
  // Ends a program that has not answered.
  void kill() const;

 private:
  Starting(pid_t process, Fd answer) : process_(process), answer_(std::move(answer)) {}

  pid_t process_;
  Fd answer_;
};

}  // namespace millrace::client
