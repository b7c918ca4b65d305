// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/settings.hpp"
#include "client/costs/stint.hpp"
#include "client/file/file.hpp"
#include "client/file/target_file.hpp"
#include "client/open/meeting.hpp"
#include "front/mpiio/handles/table.hpp"
#include "front/mpiio/ranks/exchange.hpp"
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

// The times of the ranks' earlier files on one file system. Rank 0 joins them.
using Introduction = client::Introduction<Agreement, client::ObservedFiles>;
using Introductions = client::Introductions<Agreement, client::ObservedFiles, client::Decision>;

// False: an error, or some rank does not want the file accelerated. Collective. `heard.word` is rank 0's
// decision.
bool introduce(client::Team& team, const Introduction& mine, Introductions& heard);

// This rank's message about a file that it `wants` accelerated. If the file has ranks on several nodes, one
// rank of each node starts the agent now, so that all ranks hear its address. That is not rank 0, which has
// more to do.
Introduction introduction_of(MPI_Comm comm, int rank, const std::string& path, const Settings& settings,
                             bool wanted, const client::TargetFile& found, const Handles& others,
                             const Admission& admission);

}  // namespace millrace::front
