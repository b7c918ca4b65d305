// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/fd.hpp"

namespace millrace::client {

// Each rank with Millrace holds a name in the abstract namespace of sockets, so that the ranks of its node
// see it without any message: a message of Millrace to a rank without Millrace could meet a receive of the
// program. The kernel drops the name with the process.

// Shows this rank. Call it before the first exchange, and before a call of the MPI library that returns on a
// rank only after all ranks have called it.
void attend();

// True if the launcher says that all ranks of MPI_COMM_WORLD are on this node.
bool world_is_here(int ranks);

// True if the process with this rank in MPI_COMM_WORLD, on this node, has called attend(), with the same
// build, agent and target.
bool attends(int rank);

// Shows that this rank waits for other ranks, as long as the result lives. Not valid: no rank can see it.
Fd show_waiting();

// True if that process shows that it waits.
bool waits(int rank);

// The agent that this rank uses. Ranks of a node with the same number reach the same agent.
std::uint64_t agent_number();

// Differs between builds whose messages differ.
std::uint64_t build_number();

}  // namespace millrace::client
