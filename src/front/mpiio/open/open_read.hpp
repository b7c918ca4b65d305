// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "client/open/plan.hpp"
#include "front/mpiio/handles/open.hpp"

// Files that are opened for reading only. The program's handle stays the library's own. If the file has been
// staged, reads by offset or individual pointer go to a second handle, which is of this node's copy. This
// rank alone has it open (MPI_COMM_SELF), so no read waits for another rank or crosses a link.
namespace millrace::front {

// Called after the library's open. `handle` is MPI_FILE_NULL if that open failed on this rank. Stages the
// file if the settings ask for it or if staging saves time. Adds the handle if the plan is ours. Collective.
client::Plan begin_reading(MPI_Comm comm, const char* filename, MPI_Info info, MPI_File handle,
                           bool admitted);

// Wishes::copy: copies the file, and opens each rank's handle of its node's copy.
std::function<bool(client::Company&, const client::StagePlan&)> copying(client::Team& team, Reader& reader);

// True if the agents carry reads of this file (ADR 24). After a late meeting, the first call tries whether
// this node's agent can reach the file servers, which takes a bounded time.
bool agents_carry(Open& open);

// Called at MPI_File_sync. If the file has changed since it was staged, later reads go to the file itself.
// Collective over the file.
void look_again(Open& open);

// Called at close. Remembers the share of the file that was read, for the next file of the series.
void end_reading(Open& open);

}  // namespace millrace::front
