// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/real.hpp"

namespace millrace::front {

// The program's error handlers of files. Such a handler may leave by longjmp() or by an exception, but a hook
// must reach its end. So the MPI library has a handler of Millrace in its place. That one notes the error of
// a call inside a hook, and the hook calls the program's handler as its last step (handled()). Handlers that
// MPI defines stay with the library. Thread safe.

// Called for each handle that MPI_File_open gives: it has inherited a handler.
void keep_handler(MPI_File file);
// Called before a handle is closed: the library calls the program's handler itself again.
void give_handler_back(MPI_File file);

// Called after a handler has been left: errors of its file are noted again.
void take_handler_again();

int own_set_errhandler(Entry entry, MPI_File fh, MPI_Errhandler errhandler);
int own_get_errhandler(Entry entry, MPI_File fh, MPI_Errhandler* errhandler);

// The last step of a hook, outside of any Scope. Calls the program's handler if an error was noted. Returns
// `result`.
int handled(int result);

}  // namespace millrace::front
