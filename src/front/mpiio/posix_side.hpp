// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace millrace::front {

// If libc's I/O functions are hooked too (libmillrace_posix.so), these hooks from now on ask for pending
// bytes of a file before they touch it. Called at MPI_File_open.
void meet_posix_hooks();

}  // namespace millrace::front
