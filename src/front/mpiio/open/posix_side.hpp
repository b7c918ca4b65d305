// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

namespace millrace::front {

// If libc's I/O functions are hooked too (libmillrace_posix.so), these hooks from now on ask for pending
// bytes of a file before they touch it. Called at MPI_File_open.
void meet_posix_hooks();

// True if libc's I/O functions are hooked too.
bool posix_hooks_are_here();
// From now on, opens of the file for reading get its copy on this node, which `fd` has open. `original` is
// the state of the file when it was copied. False: the hooks do not take the copy.
bool offer_copy(const struct stat& original, int fd);
// No open gets a copy any more.
void end_copies();

}  // namespace millrace::front
