// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "client/view.hpp"
#include "front/mpiio/mpi.hpp"

namespace millrace::front {

// The library looks for a place from the front of the type, piece by piece: a nanosecond or two for each. So
// much it may look: less than it takes for the first transfer.
inline constexpr std::uint64_t steps_per_piece = 32;
inline constexpr std::uint64_t steps_at_least = 1'000'000;

// Whether the MPI library, which has this view set on `file`, puts its bytes where we do. Reads that the
// library carries out would otherwise not meet writes of ours. Free for types without doubts (placing.hpp).
// Asks for each doubted place, for the first pieces, and for ever later ones up to the end. Says no where
// that is too much.
bool library_agrees(MPI_File file, const client::FileView& view) noexcept;

}  // namespace millrace::front
