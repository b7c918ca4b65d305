// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace millrace::front {

// The words about the participants in every open's agreement. The reduction is MPI_MAX.
struct Participants {
  std::uint64_t group;    // a random number of rank 0
  std::uint64_t refused;  // not 0: some rank does not want acceleration, or could not open; or blocked_open
  std::uint64_t node;     // equal on all ranks if node == ~other
  std::uint64_t other;

  bool on_one_node() const { return node == ~other; }
};
// The value of Participants::refused if the open has to fail on all ranks, because an agent of another job
// has bytes of the file and cannot be ended.
inline constexpr std::uint64_t blocked_open = 2;
// Whether the open may go on: first this rank's word, then that of all ranks.
struct Admission {
  bool here = true;
  bool everywhere = true;
};
// This rank's words.
Participants own_participants(int rank, bool wanted, const Admission& admission = {});

}  // namespace millrace::front
