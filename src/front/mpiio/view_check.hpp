// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "client/view.hpp"
#include "front/mpiio/mpi.hpp"

namespace millrace::front {

// Whether the MPI library, which has this view set on `file`, puts its bytes where we do: asked at some
// positions of the first two elements. ROMIO of MPICH 4.0 places some nested indexed types wrongly; reads
// that it carries out would not meet writes of ours, so such a view is left to it altogether. Free for
// filetypes of one run.
bool library_agrees(MPI_File file, const client::FileView& view) noexcept;

}  // namespace millrace::front
