// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace millrace::front {

// libmillrace.so exports the large-count functions even if the process's MPI library lacks them. A program
// that looks for them at run time finds them; mpi4py does so. This returns a replacement, which calls the
// function without _c if the counts fit. `entry` is an index of millrace_slots. nullptr if the entry is not a
// large-count function.
void* narrow_function(unsigned entry);

}  // namespace millrace::front
