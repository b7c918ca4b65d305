// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/settings.hpp"
#include "client/open/plan.hpp"
#include "front/mpiio/handles/open.hpp"
#include "front/mpiio/mpi.hpp"
#include "front/mpiio/ranks/exchange.hpp"

// Parts that all kinds of opens share.
namespace millrace::front {

// The name for the kernel, without ROMIO's prefix. Empty if the kernel does not know the file.
std::optional<std::string> kernel_path(std::string_view name);

// The settings of this file. Its millrace_* hints replace settings of the process.
Settings settings_of(MPI_Info info, const char* filename);

// The wishes of this rank for a file that it has `opened`, or not. Not `admitted`: an agent of another job
// has bytes of the file and cannot be ended.
client::Wishes wishes_of(const char* filename, MPI_Info info, bool opened, bool admitted);

// Completes an open of a file that several nodes have open, or of which the agents bring the bytes.
// Collective.
void set_nodes(Open& open, MpiTeam& team, client::Plan& plan, bool meets_at_close);

// Tells the client how the program uses threads. Call it before the first use of the session.
void ask_for_threads();

// A rank must be able to reach its agent later, to ask for pending bytes of other ranks. If it cannot, all
// ranks leave the file to the MPI library.
bool reaches_agent(const std::string& path);

// Raises an error at MPI_File_open, where there is no handle, and returns it.
int refuse_open(int value);

}  // namespace millrace::front
