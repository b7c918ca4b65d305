// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/real.hpp"

namespace millrace::front {

// Inputs: plain files that all ranks read, named by the setting posix_stage (ADR 25). MPI_Init and
// MPI_Init_thread copy them to every node. The hooks of front/posix then give the copies to
// opens.

// The hooks of MPI_Init and MPI_Init_thread.
int own_init(Entry entry, int* argc, char*** argv) noexcept;
int own_init_thread(Entry entry, int* argc, char*** argv, int required, int* provided) noexcept;

// Closes this process's copies. Called after MPI_Finalize.
void drop_inputs() noexcept;

}  // namespace millrace::front
