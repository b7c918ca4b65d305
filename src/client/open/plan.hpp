// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/settings.hpp"
#include "client/costs/stint.hpp"
#include "client/file/file.hpp"
#include "client/file/target_file.hpp"
#include "client/open/meeting.hpp"
#include "client/open/place.hpp"
#include "client/open/stage.hpp"
#include "client/open/team.hpp"

// The open protocol: the wishes of each rank go in, and one plan for all ranks comes out.
namespace millrace::client {

// The wishes of one rank for a file, and its knowledge of the file.
struct Wishes {
  std::string path;
  TargetFile found;            // the file of `path`
  Settings settings;           // after hints
  bool wanted = false;         // false: the rank leaves the file to the MPI library, or could not open it
  bool blocked = false;        // an agent of another job has bytes of the file and cannot be ended
  bool reads = false;          // the ranks may read the file
  bool starts = false;         // this rank starts the agent of its node for agents of other nodes
  bool library_reads = false;  // this rank cannot read the file without the MPI library
  bool incoherent = false;     // this node's cache of the file may not be coherent
  // This process's other handles of the file.
  bool bypassed = false;  // one is left to the MPI library because of other nodes
  bool written = false;   // one has written the file
  bool writable = false;  // one is open for writing
  bool alone = false;     // Peer::alone
  // The number of the program's ranks; 0: not known.
  std::uint32_t world = 0;
  Status named = {};            // on rank 0: OpenRequest::named
  ObservedFiles observed = {};  // the times of this rank's earlier files
  // Of a file that is only read:
  bool leads = false;                         // this rank looks at the file system for all ranks of its node
  std::uint32_t share = ReadShares::unknown;  // of the series' last file, that this rank has read
  // Copies the file to every node, for the open with this number. If some node has read less than the second
  // number's share of the last file, there is no copy. Collective; true: all ranks have a copy.
  std::function<bool(std::uint64_t, std::uint32_t)> copy = {};
};

// The agreement of all ranks of an open, and this rank's part of it.
struct Plan {
  bool ours = false;     // false: the MPI library has the handle, and only `blocked` has a meaning
  bool blocked = false;  // the open has to fail on all ranks
  std::uint64_t group = 0;
  bool one_node = false;            // all ranks are on this node
  Apart apart = Apart::no;          // why the file is left to the MPI library
  Through through = Through::none;  // which reads the agents carry until the file is written
  bool reads_alone = false;         // the reads of a file of one node need no other rank
  bool copied = false;              // reads go to the copy on this node
  std::uint64_t route = 0;          // Meeting::route
  bool first_of_node = false;       // this rank is the first of several nodes' ranks on its node
  std::shared_ptr<const Meeting> untried = nullptr;  // a late meeting, for try_meeting()
  std::uint64_t bytes = 0;                           // the size of a file that is only read
  Costs costs = {};
  ObservedFiles observed = {};  // on rank 0: those of all ranks
  std::unique_ptr<File> file;   // this rank's open
};

// The words of every agreement.
struct Participants {
  std::uint64_t group;    // a random number of rank 0
  std::uint64_t refused;  // some rank does not want the file accelerated
  std::uint64_t blocked;  // Wishes::blocked

  bool take_part() const { return refused == 0 && blocked == 0; }
};
Participants participants_of(Team& team, Place& place, const Wishes& wishes);

// Reading a smaller file takes no longer than the agreement of the nodes.
constexpr std::uint64_t worth_carrying_bytes = 4 * MiB;

// True if a rank may register a file of several nodes late, at its first write that takes the pipeline. Until
// then it asks for pending bytes as a guest. A ledger knows the bytes of registered ranks only.
bool may_join_late(const FileSettings& settings);

// Collective. Two exchanges for ranks on one node; for ranks on several nodes, one to three more.
// For a file that may be written:
Plan plan_write(Team& team, Place& place, Wishes wishes);
// For a file that is only read (plan_read.cpp):
Plan plan_read(Team& team, Place& place, Wishes wishes);

}  // namespace millrace::client
