// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/ranks/roll_call.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "client/open/attendance.hpp"
#include "client/open/company.hpp"
#include "client/open/own_process.hpp"
#include "client/start/log.hpp"
#include "front/mpiio/ranks/communicator.hpp"
#include "front/mpiio/ranks/exchange.hpp"

namespace millrace::front {
namespace {

constexpr std::uint64_t magic = 0x4c4c4143'4c4c4f52;  // "ROLLCALL"

constexpr const char* consequence =
    ": all ranks open their common files with the MPI library alone, at its speed. ";

// The world ranks of the communicator's ranks; empty: some are of another world, or the world is not on one
// node.
std::vector<int> ranks_on_this_node(MPI_Comm comm) {
  int size = 0;
  if (!has_world() || PMPI_Comm_size(MPI_COMM_WORLD, &size) != MPI_SUCCESS || !client::world_is_here(size))
    return {};
  return world_ranks(comm);
}

// The ranks of one node see each other without messages. False: some have no Millrace, or another build of
// it.
bool all_attend(const std::vector<int>& ranks, int own_rank) {
  std::vector<int> missing;
  int first = own_rank;  // of those with Millrace
  for (const int rank : ranks) {
    if (!client::attends(rank))
      missing.push_back(rank);
    else
      first = std::min(first, rank);
  }
  if (missing.empty()) return true;
  if (own_rank == first)
    client::log(list_of(missing) + " of MPI_COMM_WORLD " + (missing.size() == 1 ? "runs" : "run") +
                " without Millrace, or with another build of it or another --target" + consequence +
                "Start every program of the job by one `millrace run`, with the same settings; a static "
                "program, and an "
                "environment without LD_PRELOAD, keep Millrace out");
  return false;
}

// Messages to the ranks that did not answer cannot be taken back, and could meet later calls of the program.
[[noreturn]] void give_up(MPI_Comm comm, std::uint64_t bound_ms) {
  client::log(
      "some ranks have not answered Millrace for " + std::to_string(bound_ms / 1000) +
      " s after a collective call in which all ranks met. They run without Millrace, or are stopped. The "
      "job ends here: check that the library is on every node, that every program can be preloaded, and "
      "start all of them by `millrace run`; or set MILLRACE=0");
  PMPI_Abort(comm, 1);
  std::abort();
}

bool call_roll(MPI_Comm comm, Coming coming) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  const std::vector<int> here = ranks_on_this_node(comm);
  if (!here.empty()) return all_attend(here, here[static_cast<std::size_t>(rank)]);
  const std::uint64_t bound_ms = long_wait_ms();
  const auto late = [&] {
    if (coming == Coming::together) give_up(comm, bound_ms);
    if (rank != 0) return;
    client::log("MPI_File_open waits for ranks that have not called it for " +
                std::to_string(bound_ms / 1000) +
                " s. It waits for ever if they run without Millrace, or with another --target");
  };
  MpiTeam team(comm, {rank == 0 ? bound_ms : 2 * bound_ms, late});  // rank 0 speaks first
  std::vector<int> others;
  const client::Answer own{magic,
                           client::build_number(),
                           client::node_number(),
                           client::agent_number(),
                           static_cast<std::uint32_t>(rank),
                           0};
  if (!client::differing(team, own, others)) return false;
  if (!others.empty() && rank == 0)
    client::log(
        list_of(others) +
        " of the file's communicator and other ranks have different builds of Millrace, or different agents "
        "on one node" +
        consequence + "Use one installation on all nodes, and give all ranks the same MILLRACE_JOB");
  return others.empty();
}

// The answer of the roll call stays with the communicator, and with its duplicates.
int key_of_answer() {
  static const int key = [] {
    int made = MPI_KEYVAL_INVALID;
    (void)PMPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &made, nullptr);
    return made;
  }();
  return key;
}

// All ranks of the world take part, so all of its groups do. Not used if threads may open files at the same
// time: the ranks would not learn it in the same order.
std::atomic<bool> world_takes_part{false};

}  // namespace

bool all_take_part(MPI_Comm comm, Coming coming) {
  static int yes, no;
  int size = 1, there = 0;
  void* known = nullptr;
  if (PMPI_Comm_size(comm, &size) != MPI_SUCCESS || size == 1) return true;
  const int key = key_of_answer();
  if (key != MPI_KEYVAL_INVALID && PMPI_Comm_get_attr(comm, key, &known, &there) == MPI_SUCCESS && there != 0)
    return known == &yes;
  if (world_takes_part.load() && in_world(comm)) return true;
  const bool all = call_roll(comm, coming);
  if (key != MPI_KEYVAL_INVALID) (void)PMPI_Comm_set_attr(comm, key, all ? &yes : &no);
  int likeness = MPI_UNEQUAL;
  if (all && !calls_may_overlap() && has_world() &&
      PMPI_Comm_compare(comm, MPI_COMM_WORLD, &likeness) == MPI_SUCCESS && likeness != MPI_UNEQUAL)
    world_takes_part.store(true);
  return all;
}

}  // namespace millrace::front
