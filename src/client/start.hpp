// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/settings.hpp"
#include "client/session.hpp"

namespace millrace::client {

// Path of millraced: the setting, else beside the library that this code is in.
std::string agent_program(const Settings& settings);

void pause_ms(std::uint32_t for_ms);

// Runs `millrace-recover` for a directory; waits for its end, but not longer than for the start of an agent.
// False: it was killed, or is not there.
bool run_recovery(const Settings& settings, const std::string& directory);

// False: the job has no agent on this node now. Three system calls; true where it could not be found out.
bool agent_is_there(const Settings& settings);

// Connects with the job's agent; if there is none, starts it when `may_start`, else fails with not_found.
// Every wait in it is bounded to ten seconds, or `timeout` if that is less. Where it fails, `why` may say
// more than the status.
Result<std::unique_ptr<Session>> connect_session(const Settings& settings, bool may_start, bool serialized,
                                                 std::string& why);

}  // namespace millrace::client
