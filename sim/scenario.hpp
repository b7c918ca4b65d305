// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/settings.hpp"
#include "extent/extent.hpp"
#include "io/virtual/virtual_disk.hpp"
#include "io/virtual/virtual_net.hpp"
#include "processors.hpp"
#include "stage.hpp"
#include "transport/link_io.hpp"
#include "transport/topology.hpp"

// What a run is about: machines, settings, a program for each rank, and what goes wrong when.
namespace millrace::sim {

// One step of a rank's program. Ranks write only what is theirs in a phase; phases end with a sync or an
// arrive of all, and a barrier, so that of two writes to one byte MPI says which is the later one. They read
// what they have just written, and after such a step and a barrier what anybody has.
struct Step {
  enum class Kind : std::uint8_t {
    write,
    read,
    sync,
    arrive,
    barrier,
    close,
    direct,    // from now on writes go past the pipeline
    pipeline,  // ... no more
    settle,    // what closes have left to go on, as before every open
    open,      // again: all ranks have closed
    stage,     // another file comes to every node: all ranks, whatever they have been told
    rest,      // computes for `stride` ns
  };
  Kind kind;
  std::uint32_t pieces = 1;  // write: as many in one call, each so much further on
  Extent extent = {};        // write, read
  std::uint64_t stride = 0;

  Extent piece(std::uint32_t i) const { return {extent.begin + i * stride, extent.end + i * stride}; }
};

enum class FaultKind : std::uint8_t {
  slow_disk,        // `amount` times, for a while
  full_disk,        // no more than `amount` bytes
  write_error,      // EIO or ETIMEDOUT of a write, after `amount` more
  sync_error,       // ... of a datasync, after `amount` more
  cut,              // between `node` and `other`, for a while
  delay,            // `amount` ns more from and to `node`, for a while
  pause,            // of the agent's process, for a while: to it, the clock jumps
  corrupt,          // a wrong bit in what comes to `node`
  kill_agent,       // the process
  lose_node,        // the host, with its ranks and what its cache had
  clock_jump,       // of the host's clock, by `amount` ns
  terminate_agent,  // SIGTERM: what it has goes to the file, and it serves on
  kill_group,       // the agent and the ranks of a node, all at once
  kill_ranks,       // the ranks of a node: its agent lives
};
const char* name_of(FaultKind kind);

struct Fault {
  FaultKind kind;
  std::uint64_t at_ns = 0;
  std::uint64_t for_ns = 0;
  std::uint32_t node = 0;
  std::uint32_t other = 0;
  std::uint64_t amount = 0;
};

// The file is opened once more, after all ranks have closed it or have gone. Agents that died, and hosts that
// were lost, are there again by then.
struct Opening {
  std::uint64_t after_ns = 0;
  bool keeps_ranks = false;                 // whose agents live; else there are other processes everywhere
  bool keeps_agents = false;                // that live, else they leave before
  std::vector<std::vector<Step>> programs;  // by rank
  std::optional<Stage> stage;               // for which they have a step
  std::vector<Fault> faults;
  // Before it, somebody removes the file and makes another one of so many bytes, which gets its inode number;
  // 0: nobody does.
  std::uint64_t anew_bytes = 0;
  // The recovery of this node's journals is killed so long after its beginning; 0: it is not.
  std::uint64_t recovery_dies_ns = 0;
  std::uint32_t recovery_node = 0;
};

// No agent is there at first: ranks start one.
struct Start {
  std::uint64_t takes_ns;  // until it is there
  std::uint64_t costs_ps;  // as the ranks expect, and:
  std::uint64_t call_ps;   // a write of the MPI library
};

struct Scenario {
  std::uint64_t seed = 0;
  std::uint32_t nodes = 1;
  std::uint32_t ranks_per_node = 1;
  std::uint64_t ring_bytes = 0;  // of each rank's channel
  FileSettings settings;
  Settings process;  // of each rank
  transport::RoutePlan plan;
  // Only the first node sees the file, which is the file server; elsewhere another file stands in for it.
  bool stands_in = false;
  transport::LinkTimes times;
  io::NetOptions net;
  io::DiskOptions disk;
  std::uint64_t cpu_bytes_per_second = 4'000'000'000;  // that an agent moves out of rings
  Costs costs;
  std::uint64_t most_steps = 20'000'000;          // events; more are a run without end
  std::uint64_t share_every_ns = 250'000'000;     // at most, an agent says that it gets on; twice that: looks
  std::uint64_t write_within_ns = 5'000'000'000;  // the setting
  std::uint64_t patience_ns = 60'000'000'000;     // the ranks' bound on waits without progress
  std::uint32_t slice_ms = 100;                   // ... who look so often meanwhile
  std::uint64_t file_bytes = 0;
  std::vector<std::vector<Step>> programs;  // by rank
  std::optional<Stage> stage;               // for which they have a step
  std::optional<Start> start;               // else agents are there
  std::vector<bool> unable;                 // by rank, on one node: it can start no agent, and comes too late
  std::optional<std::uint32_t> onlooker;    // a rank that is not of those who open the file, and reads it
  bool apart = false;                       // the nodes do not work together
  bool second_handles = false;  // ranks read by another handle, which they opened before any wrote
  std::vector<Fault> faults;
  std::vector<Opening> later;
  std::uint64_t anew_bytes = 0;  // likewise, after everything, before the last recovery

  // Nothing goes wrong that anybody has to be told of.
  bool benign() const;
  // What writes returned for outlives the agent of their node: strategy journal, and no disk that fails.
  bool writes_survive() const;
  // Writes older than the bound are in the file, whichever processes are killed then: nothing but a scheduler
  // interferes.
  bool keeps_the_bound() const;
  // Programs may die, and nothing else goes wrong: what writes returned for outlives them.
  bool only_programs_die() const;
  // Writes or syncs fail.
  bool disk_fails() const;
  // The cache of a node may be lost: only what is on the disk is promised.
  bool loses_caches() const;
  // The node's agent is paused for longer than its ranks wait.
  bool stands_still(std::uint32_t node) const;
  std::string describe() const;

 private:
  bool is_benign(const Fault& fault) const;
};

Scenario make_scenario(std::uint64_t seed);

}  // namespace millrace::sim
