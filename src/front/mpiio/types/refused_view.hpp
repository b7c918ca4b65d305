// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "front/mpiio/mpi.hpp"

namespace millrace::front {

// For a view that Millrace cannot map: if its size is the reason, prints a line on stderr that says what to
// do.
void tell_if_too_large(MPI_Datatype filetype, const std::string& path);

}  // namespace millrace::front
