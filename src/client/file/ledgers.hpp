// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace millrace::client {

class Process;

// The file may have ledgers of earlier closes (agent/core/ledger.hpp writes them), and earlier ranks may have
// left bytes of it with this node's agent.
//
// Call it when a file is opened, before any of its bytes are read. Pending bytes of this process and of other
// ranks of its node reach the file system. The call waits for ledgers of closed files (durability node) and
// for bytes of ranks that ended without a close. It recovers ledgers of dead agents. It costs a look at the
// user's folder of logs, and one at the agent's page; it looks at the file itself only if there are logs or
// other agents. If a ledger cannot be recovered, a line on stderr says so. If the open `writes`, recovery
// leaves that ledger alone from then on. Agents of other jobs write their bytes of the file, too. False: the
// open has to fail, and a line says why:
//
// - The process cannot look for ledgers.
// - An agent of another job has bytes, does nothing, and cannot be ended, or it cannot be asked.
// - The open `writes`, and a ledger may later bring older bytes back: a recovery that makes no progress holds
//   it, its disk does not take the mark, or an agent has it that cannot be asked or cannot remove it.
bool settle_ledgers(const char* path, bool writes, Process& process);

// As settle_ledgers(), without this job's own agent: only what dead agents and agents of other jobs have. For
// a rank that has the file open: its agent keeps what ranks of this open write.
bool settle_ledgers_of_others(const char* path, bool writes, Process& process);

}  // namespace millrace::client
