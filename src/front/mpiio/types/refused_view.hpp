// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "client/costs/reasons.hpp"
#include "front/mpiio/mpi.hpp"

namespace millrace::front {

// The reason, for reports, why this rank leaves the file at `path` to the MPI library while `filetype` is in
// its view. If a limit of Millrace is the reason, prints a line on stderr that says what to do.
client::Reason reason_for_no_view(MPI_Datatype filetype, const std::string& path);

}  // namespace millrace::front
