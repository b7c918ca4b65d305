// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "client/view.hpp"
#include "front/mpiio/mpi.hpp"

namespace millrace::front {

// A library looks for a place from the front of the type: a nanosecond or two for every piece it steps over.
inline constexpr std::uint64_t most_steps = 4'000'000;
inline constexpr std::uint64_t fewest_samples = 128;

// Whether the MPI library, which has this view set on `file`, puts its bytes where we do. ROMIO of MPICH 4.0
// places some nested types wrongly; reads that it carries out would not meet writes of ours, so such a view
// is left to it altogether. Free for types whose nest of constructors is known to be placed alike everywhere.
// Asks for every piece of a doubtful one, or for samples where that takes too many steps, and says no where
// even those do.
bool library_agrees(MPI_File file, const client::FileView& view, std::uint64_t steps = most_steps) noexcept;

}  // namespace millrace::front
