// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "client/view/view.hpp"
#include "front/mpiio/mpi.hpp"

namespace millrace::front {

// To find a place, the library goes through the type from its front. Each piece is a step of a nanosecond or
// two. These bounds keep the check shorter than the first transfer.
inline constexpr std::uint64_t steps_per_piece = 32;
inline constexpr std::uint64_t steps_at_least = 1'000'000;

// True if the MPI library, which has this view set on `file`, places its bytes as Millrace does. Otherwise
// the library's reads would miss Millrace's writes. Takes no time for types without doubts (placing.hpp).
// Otherwise asks for each doubted place, for the first pieces, and for later pieces at growing distances.
// Also false if the check takes too many steps.
bool library_agrees(MPI_File file, const client::FileView& view) noexcept;

}  // namespace millrace::front
