// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/settings.hpp"
#include "client/costs/stint.hpp"
#include "client/file/file.hpp"
#include "client/file/target_file.hpp"
#include "front/mpiio/handles/table.hpp"
#include "front/mpiio/ranks/exchange.hpp"
#include "front/mpiio/ranks/nodes.hpp"
#include "front/mpiio/ranks/participants.hpp"

// What the ranks of an open for writing tell each other.
namespace millrace::front {

// The agreement of all ranks of an open: the maximum over all ranks, word by word.
struct Agreement {
  Participants participants;
  std::uint64_t bypassed;       // some rank has a handle of the file that is left to the library
  std::uint64_t library_reads;  // some rank cannot read the file without the library
  std::uint64_t written;        // some rank has written the file by another handle
  std::uint64_t incoherent;     // some node's cache of the file may not be coherent
};

// A rank's message to all others at open, sent by one collective call.
struct Introduction {
  Agreement agreement;
  Peer self;
  client::ObservedFiles observed;  // of this rank's earlier files
};

// The messages of all ranks, as one rank receives them.
struct Introductions {
  Agreement agreement{};
  std::vector<Peer> peers;  // of all ranks
  Decision decision{};
  client::ObservedFiles observed{};  // of all ranks that wrote to this file's file system
  std::uint32_t members = 0;         // 0: the ranks are on several nodes

  void join(const client::ObservedFiles& one) {
    observed.file_system = decision.costs.file_system;
    if (one.file_system == observed.file_system) observed.ways.join(one.ways);
  }
};

// Tells all ranks of an open this rank's message. `heard` gets the agreement and the peers of `all` messages,
// and rank 0's decision. False: an MPI error. Collective.
template <class One, class Heard>
bool tell_all(MPI_Comm comm, const One& mine, std::vector<One>& all, Heard& heard) {
  int size = 1;
  if (PMPI_Comm_size(comm, &size) != MPI_SUCCESS) return false;
  all.assign(static_cast<std::size_t>(size), mine);
  if (size > 1 && !gather(comm, mine, all, heard.decision)) return false;
  for (const One& one : all) {
    merge_max(heard.agreement, one.agreement);
    heard.peers.push_back(one.self);
  }
  return true;
}

// False: some rank does not want the file accelerated. Collective.
bool introduce(MPI_Comm comm, const Introduction& mine, Introductions& heard);

// This rank's message about a file that it `wants` accelerated. If the file has ranks on several nodes, one
// rank of each node starts the agent now, so that all ranks hear its address. That is not rank 0, which has
// more to do.
Introduction introduction_of(MPI_Comm comm, int rank, const std::string& path, const Settings& settings,
                             bool wanted, const client::TargetFile& found, const Handles& others,
                             const Admission& admission);

}  // namespace millrace::front
