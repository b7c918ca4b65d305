// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace millrace::front {

// Where libc's I/O functions are hooked too (libmillrace_posix.so): from now on these ask for what is pending
// of a file before they touch it. At the first MPI_File_open.
void meet_posix_hooks();

}  // namespace millrace::front
