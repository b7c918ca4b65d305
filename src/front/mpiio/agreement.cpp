// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/agreement.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace millrace::front {
namespace {

// Files of the same ranks may set views in several threads at once. MPI allows tags up to 32767 everywhere.
int tag_of(const Open& open) { return static_cast<int>(open.group >> 1 & 0x7fff); }

// True if all of `group` are in MPI_COMM_WORLD: not so for a file that spawned processes share, or where the
// program uses MPI sessions and there is no world.
bool within_world(MPI_Group group, int size) {
  MPI_Group world;
  int initialized = 0;
  if (PMPI_Initialized(&initialized) != MPI_SUCCESS || initialized == 0) return false;
  if (PMPI_Comm_group(MPI_COMM_WORLD, &world) != MPI_SUCCESS) return false;
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::vector<int> there(ranks.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  const bool known =
      PMPI_Group_translate_ranks(group, size, ranks.data(), world, there.data()) == MPI_SUCCESS;
  PMPI_Group_free(&world);
  return known && std::ranges::count(there, MPI_UNDEFINED) == 0;
}

// The file's ranks as a communicator, made when it is first needed: most files never set a view.
bool gather_ranks(Open& open) {
  MPI_Group group;
  int size = 0;
  if (PMPI_File_get_group(open.handle, &group) != MPI_SUCCESS) return false;
  bool made = PMPI_Group_size(group, &size) == MPI_SUCCESS;
  open.ranks = size;
  if (made && size > 1)
    made = within_world(group, size) &&
           PMPI_Comm_create_group(MPI_COMM_WORLD, group, tag_of(open), &open.agreement) == MPI_SUCCESS;
  PMPI_Group_free(&group);
  return made;
}

}  // namespace

bool all_ranks(Open& open, bool mine) {
  if (open.ranks == 0 && !gather_ranks(open)) return false;
  if (open.ranks == 1) return mine;
  if (open.agreement == MPI_COMM_NULL) return false;
  int own = mine ? 1 : 0;
  int all = 0;
  return PMPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, open.agreement) == MPI_SUCCESS && all == 1;
}

void end_agreements(Open& open) {
  if (open.agreement != MPI_COMM_NULL) PMPI_Comm_free(&open.agreement);
}

}  // namespace millrace::front
