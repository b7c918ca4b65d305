// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/ranks/participants.hpp"

#include <sys/random.h>

#include "client/open/company.hpp"

namespace millrace::front {

Participants own_participants(int rank, bool wanted, const Admission& admission) {
  static const std::uint64_t node = client::node_number();
  Participants mine{0, wanted ? 0u : 1u, node, ~node};
  if (!admission.here) mine.refused = blocked_open;
  if (rank != 0) return mine;
  if (::getrandom(&mine.group, sizeof mine.group, 0) != sizeof mine.group) mine.refused = 1;
  // The number is never 0 and never above INT64_MAX, because MPICH compares MPI_UINT64_T as signed numbers.
  mine.group = (mine.group >> 1) | 1u;
  return mine;
}

}  // namespace millrace::front
