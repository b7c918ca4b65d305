// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.hpp"
#include "base/settings.hpp"
#include "transport/tcp.hpp"

namespace millrace::client {

class CostBook;
class Process;

// The process that this code runs in, with the settings of its environment.
Process& own_process();
CostBook& cost_book();

// The settings of this process (environment); parsed once.
const Settings& process_settings();

// Call it if the MPI library did not provide MPI_THREAD_MULTIPLE. Calls then never overlap and need no locks.
// The function has an effect only before the first write.
void calls_are_serialized();

// Reserves the descriptors that this process needs for a later session, so that a shortage is known before
// any rank writes. Starts no agent. False: there are too few.
bool reserve_descriptors();

// Asks the kernel to read the agent's program into memory, so that a start does not wait for a disk. The
// launcher's last process of each node does so. Call it at MPI_Init.
void prepare_start();
// The address of this node's agent for agents of other nodes. Starts the agent if there is none.
Result<transport::TcpAddress> meet();
// The address from an earlier meet(). Port 0: no meet() succeeded, or the agent is lost.
transport::TcpAddress met();

// Call it before this rank waits for others in the MPI library, where it polls. If ranks outnumber the
// processors, it first waits asleep until the agent has taken this rank's records.
void let_agent_work();

// Leaves the agent, at MPI_Finalize and at exit. It is safe to call it twice.
void finalize();

}  // namespace millrace::client
