// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "client/view.hpp"
#include "front/mpiio/mpi.hpp"

namespace millrace::front {

// The library looks for a place from the front of the type, piece by piece, with a nanosecond or two for
// each. This bound keeps the check shorter than the first transfer.
inline constexpr std::uint64_t steps_per_piece = 32;
inline constexpr std::uint64_t steps_at_least = 1'000'000;

// True if the MPI library, which has this view set on `file`, places its bytes as Millrace does. Otherwise
// the library's reads would miss Millrace's writes. Free for types without doubts (placing.hpp). Asks for
// each doubted place, for the first pieces, and for later ones in growing steps up to the end. False also if
// that takes too many steps.
bool library_agrees(MPI_File file, const client::FileView& view) noexcept;

}  // namespace millrace::front
