// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/settings.hpp"
#include "client/session.hpp"

namespace millrace::client {

// Path of millraced: the setting, else beside the library of this code.
std::string agent_program(const Settings& settings);

void pause_ms(std::uint32_t for_ms);

// Runs `millrace-recover` for a directory; waits for its end, but not longer than for the start of an agent.
// False: it was killed or does not exist.
bool run_recovery(const Settings& settings, const std::string& directory);

// The name at which the job's agent on this node listens.
std::string agent_name(const Settings& settings);

// Connects with the job's agent. If there is none, starts it with `may_start`, and fails with not_found
// without. Every wait is bounded to ten seconds, or to `timeout` if that is less. After a failure, `why` may
// say more than the status.
Result<std::unique_ptr<Session>> connect_session(const Settings& settings, bool may_start, bool serialized,
                                                 std::string& why);

}  // namespace millrace::client
