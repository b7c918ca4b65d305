// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/settings.hpp"
#include "client/costs/history.hpp"
#include "client/file/file.hpp"
#include "client/file/target_file.hpp"
#include "client/open/meeting.hpp"
#include "client/open/node_copy.hpp"
#include "client/open/place.hpp"
#include "client/open/team.hpp"

// The open protocol: the wishes of each rank go in, and one plan for all ranks comes out.
namespace millrace::client {

// The words of one rank, and the agreement of all: the maximum, word by word. The protocol fills in the words
// of rank 0.
struct Words {
  std::uint64_t refused;  // this rank leaves the file to the MPI library, or could not open it
  std::uint64_t blocked;  // an agent of another job has bytes of the file and cannot be ended
  // This process's other handles of the file.
  std::uint64_t bypassed;       // one is left to the MPI library because of other nodes
  std::uint64_t written;        // one has written the file
  std::uint64_t writable;       // one is open for writing
  std::uint64_t library_reads;  // this rank cannot read the file without the MPI library
  std::uint64_t incoherent;     // this node's cache of the file may not be coherent
  Factors factors;              // History::Past::factors
  // Of rank 0:
  std::uint64_t group;  // a random number
  std::uint64_t stage;  // a Stage
  std::uint64_t unfit;  // 1: a file that is only read needs no agents
  // Of a file that is only read:
  std::uint64_t bytes;    // its size
  std::uint64_t unknown;  // this rank has read no file of the series
  // Of a file that only rank 0's node sees:
  std::uint64_t ledger;  // this rank wants a ledger
  Same alike;            // Wishes::alike
};

// The wishes of one rank for a file, and its knowledge of the file.
struct Wishes {
  std::string path;
  TargetFile found;   // the file of `path`
  Settings settings;  // after hints
  Words words = {};
  bool alone = false;   // Peer::alone
  bool reads = false;   // the ranks may read the file
  bool starts = false;  // this rank starts the agent of its node for agents of other nodes
  // The number of the program's ranks; 0: not known.
  std::uint32_t world = 0;
  Status named = {};  // on rank 0: OpenRequest::named
  // Of a file that is only read:
  bool leads = false;                      // this rank looks at the file system for all ranks of its node
  std::uint32_t share = History::unknown;  // of the series' last file, that this rank has read
  // Copies the file to every node (stage_whole). Collective; true: all ranks have a copy.
  std::function<bool(Company&, const StagePlan&)> copy = {};
  // Of a file that only rank 0's node sees:
  int mode = 0;             // of open(2)
  std::uint64_t alike = 0;  // a number that has to be the same on all ranks
};

// The agreement of all ranks of an open, and this rank's part of it.
struct Plan {
  bool ours = false;     // false: the MPI library has the handle, and only `blocked` has a meaning
  bool blocked = false;  // the open has to fail on all ranks, and so it has with an error:
  int error = 0;         // an errno; of a file that only rank 0's node sees
  std::uint64_t group = 0;
  bool one_node = false;            // all ranks are on this node
  Apart apart = Apart::no;          // why the nodes do not work together
  Through through = Through::none;  // which reads the agents carry until the file is written
  bool reads_alone = false;         // the reads of a file of one node need no other rank
  bool copied = false;              // reads go to the copy on this node
  std::uint64_t route = 0;          // Meeting::route
  bool first_of_node = false;       // this rank is the first of several nodes' ranks on its node
  std::shared_ptr<const Meeting> untried = nullptr;  // a late meeting, for try_meeting()
  std::uint64_t bytes = 0;                           // the size of a file that is only read
  Costs costs = {};
  std::unique_ptr<File> file;  // this rank's open
  // Of a file that only rank 0's node sees:
  bool elsewhere = false;  // this rank is on another node
  Fd opened = {};          // the file itself, or else this node's stand-in
};

// Reading a smaller file takes no longer than the agreement of the nodes.
constexpr std::uint64_t worth_carrying_bytes = 4 * MiB;

// True if a rank may register a file of several nodes late, at its first write that takes the pipeline. Until
// then it asks for pending bytes as a guest. A ledger knows the bytes of registered ranks only.
bool may_join_late(const FileSettings& settings);

// Collective. One exchange for ranks on one node; for ranks on several nodes, one to three more.
// For a file that may be written:
Plan plan_write(Team& team, Place& place, Wishes wishes);
// For a file that is only read:
Plan plan_read(Team& team, Place& place, Wishes wishes);
// For a file that only rank 0's node sees, and that no rank has opened yet (target=first). Rank 0 makes it if
// the mode asks for that. Not ours: all ranks are on one node or see one file, which is opened like any
// other.
Plan plan_first(Team& team, Place& place, Wishes wishes);

}  // namespace millrace::client
