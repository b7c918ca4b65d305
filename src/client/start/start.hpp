// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/settings.hpp"
#include "client/session/session.hpp"
#include "client/start/starting.hpp"

namespace millrace::client {

// The path of millraced: the setting, or else a place near the library that contains this code.
std::string agent_program(const Settings& settings);

void pause_ms(std::uint32_t for_ms);

// Runs `millrace-recover` for the file of that path, with this process's stderr; waits for its end, but not
// longer than for the start of an agent. False: a signal ended the program, or it does not exist.
bool run_recovery(const Settings& settings, const std::string& directory, const std::string& path);

// The name at which the job's agent on this node listens.
std::string agent_name(const Settings& settings);

// Begins to start the job's agent, and does not wait. Call connect_session() when the start has ended: it
// tries again, and says why. The errors are those of Starting::begin().
Result<Starting> begin_start(const Settings& settings);
// The longest time of a start: ten seconds, or the setting `timeout` if it is less.
std::uint64_t start_bound_ms(const Settings& settings);
// The line about a start that has taken longer.
std::string too_slow(const Settings& settings);

// Asks the kernel to read the agent's program into memory, and does not wait for it.
void read_agent_ahead(const Settings& settings);

// Connects with the job's agent. If there is no agent, the process starts one with `may_start`; otherwise it
// fails with not_found. The start takes at most start_bound_ms(). An agent that runs has the time of
// `timeout` to answer; then the status is Code::timeout. After a failure, `why` may say more than the status.
Result<std::unique_ptr<Session>> connect_session(const Settings& settings, bool may_start, bool serialized,
                                                 std::string& why);

// Connects with an agent that runs, whatever its job, only for questions.
Result<std::unique_ptr<Session>> question_session(const Settings& settings, const std::string& name);

}  // namespace millrace::client
