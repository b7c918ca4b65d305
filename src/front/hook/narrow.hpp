// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace millrace::front {

// libmillrace.so exports the large-count functions even if the process's MPI library lacks them, and a
// program that looks for them at run time (mpi4py does) finds them. In that case this function replaces them:
// it calls the function without _c, if the count fits. `entry` is an index of millrace_slots; nullptr if it
// is no large-count transfer.
void* narrow_function(unsigned entry);

}  // namespace millrace::front
