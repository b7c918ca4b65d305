// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/ranks/communicator.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>

#include "front/mpiio/ranks/exchange.hpp"

namespace millrace::front {
namespace {

// Calls `take` with the world ranks of the group, some at a time, because a list of all takes memory on each
// rank. False: some are not there. So it is for a file that spawned processes share, and for a program with
// MPI sessions, which has no world.
template <class Take>
bool each_in_world(MPI_Group group, Take take) {
  constexpr int most = 1024;
  std::array<int, most> ranks, there;
  MPI_Group world;
  int size = 0;
  if (!has_world() || PMPI_Group_size(group, &size) != MPI_SUCCESS ||
      PMPI_Comm_group(MPI_COMM_WORLD, &world) != MPI_SUCCESS)
    return false;
  bool all = true;
  for (int begin = 0; begin < size && all; begin += most) {
    const int count = std::min(most, size - begin);
    std::iota(ranks.begin(), ranks.begin() + count, begin);
    const std::span<const int> found(there.data(), static_cast<std::size_t>(count));
    all = PMPI_Group_translate_ranks(group, count, ranks.data(), world, there.data()) == MPI_SUCCESS &&
          std::ranges::count(found, MPI_UNDEFINED) == 0;
    if (all) take(found);
  }
  PMPI_Group_free(&world);
  return all;
}

bool group_in_world(MPI_Group group) {
  return each_in_world(group, [](std::span<const int>) {});
}

using Held = std::shared_ptr<const Ranks>;

int forget_ranks(MPI_Comm /*comm*/, int /*key*/, void* value, void* /*extra*/) {
  delete static_cast<Held*>(value);
  return MPI_SUCCESS;
}

int key_of_ranks() {
  static const int key = [] {
    int made = MPI_KEYVAL_INVALID;
    (void)PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget_ranks, &made, nullptr);
    return made;
  }();
  return key;
}

// Calls the program's attribute callbacks once more: the library's own open copies the communicator too.
// MPI_Comm_split calls none, but its ranks poll while they wait, and keep the agents from the processors.
Held new_ranks(MPI_Comm comm, const Late& late) {
  auto ranks = std::make_shared<Ranks>();
  if (PMPI_Comm_size(comm, &ranks->size) != MPI_SUCCESS) return nullptr;
  MPI_Request request;
  Waited waited;
  const int started = PMPI_Comm_idup(comm, &ranks->comm, &request);
  return wait_asleep(started, request, late, waited) ? ranks : nullptr;
}

// Libraries (PnetCDF) duplicate the world for each file. One communicator of the world's ranks serves them
// all. It is a duplicate of the first file's, because a collective of Millrace on the world itself could come
// between those of the program.
MPI_Comm holder_of(MPI_Comm comm) {
  int likeness = MPI_UNEQUAL;
  const bool of_world = has_world() && PMPI_Comm_compare(comm, MPI_COMM_WORLD, &likeness) == MPI_SUCCESS &&
                        (likeness == MPI_IDENT || likeness == MPI_CONGRUENT);
  return of_world ? MPI_COMM_WORLD : comm;
}

}  // namespace

bool has_world() {
  int initialized = 0;
  return PMPI_Initialized(&initialized) == MPI_SUCCESS && initialized != 0;
}

std::vector<int> world_ranks(MPI_Comm comm) {
  MPI_Group group;
  std::vector<int> ranks;
  if (PMPI_Comm_group(comm, &group) != MPI_SUCCESS) return {};
  const bool all = each_in_world(
      group, [&](std::span<const int> some) { ranks.insert(ranks.end(), some.begin(), some.end()); });
  PMPI_Group_free(&group);
  return all ? ranks : std::vector<int>();
}

bool in_world(MPI_Comm comm) {
  MPI_Group group;
  if (PMPI_Comm_group(comm, &group) != MPI_SUCCESS) return false;
  const bool all = group_in_world(group);
  PMPI_Group_free(&group);
  return all;
}

bool calls_may_overlap() {
  int provided = MPI_THREAD_MULTIPLE;
  return PMPI_Query_thread(&provided) != MPI_SUCCESS || provided == MPI_THREAD_MULTIPLE;
}

Ranks::~Ranks() {
  int finalized = 0;
  if (comm != MPI_COMM_NULL && PMPI_Finalized(&finalized) == MPI_SUCCESS && finalized == 0)
    PMPI_Comm_free(&comm);
}

std::shared_ptr<const Ranks> known_ranks(MPI_Comm comm) {
  void* known = nullptr;
  int there = 0;
  const int key = key_of_ranks();
  if (calls_may_overlap() || key == MPI_KEYVAL_INVALID ||
      PMPI_Comm_get_attr(holder_of(comm), key, &known, &there) != MPI_SUCCESS || there == 0)
    return nullptr;
  return *static_cast<Held*>(known);
}

std::shared_ptr<const Ranks> ranks_of(MPI_Comm comm, const Late& late) {
  if (Held known = known_ranks(comm)) return known;
  Held ranks = new_ranks(comm, late);
  if (calls_may_overlap() || ranks == nullptr || key_of_ranks() == MPI_KEYVAL_INVALID) return ranks;
  auto held = std::make_unique<Held>(ranks);
  if (PMPI_Comm_set_attr(holder_of(comm), key_of_ranks(), held.get()) == MPI_SUCCESS) (void)held.release();
  return ranks;
}

std::shared_ptr<const Ranks> ranks_of_file(MPI_File file, std::uint64_t number) {
  // Files of the same ranks may set views in several threads at once. MPI allows tags up to 32767 everywhere.
  const int tag = static_cast<int>(number >> 1 & 0x7fff);
  auto ranks = std::make_shared<Ranks>();
  MPI_Group group;
  if (PMPI_File_get_group(file, &group) != MPI_SUCCESS) return nullptr;
  bool made = PMPI_Group_size(group, &ranks->size) == MPI_SUCCESS;
  if (made && ranks->size > 1)
    made = group_in_world(group) &&
           PMPI_Comm_create_group(MPI_COMM_WORLD, group, tag, &ranks->comm) == MPI_SUCCESS;
  PMPI_Group_free(&group);
  return made ? ranks : nullptr;
}

void end_agreements() {
  void* known = nullptr;
  int there = 0;
  if (calls_may_overlap() || key_of_ranks() == MPI_KEYVAL_INVALID) return;
  if (PMPI_Comm_get_attr(MPI_COMM_WORLD, key_of_ranks(), &known, &there) == MPI_SUCCESS && there != 0)
    PMPI_Comm_delete_attr(MPI_COMM_WORLD, key_of_ranks());
}

}  // namespace millrace::front
