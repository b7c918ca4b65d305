// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace millrace::front {

// Inputs: plain files that all ranks read, named by the setting posix_stage (ADR 25). MPI_Init and
// MPI_Init_thread (calls.hpp) copy them to every node. The hooks of front/posix then give the copies to
// opens.

// Closes this process's copies. Called after MPI_Finalize.
void drop_inputs() noexcept;

}  // namespace millrace::front
