// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "base/settings.hpp"
#include "client/view/view.hpp"
#include "extent/extent.hpp"
#include "io/virtual/virtual_disk.hpp"
#include "io/virtual/virtual_net.hpp"
#include "meanwhile.hpp"
#include "stage.hpp"
#include "transport/link_io.hpp"
#include "transport/topology.hpp"

// The contents of a run: machines, settings, a program for each rank, and the faults with their times.
namespace millrace::sim {

// One step of a rank's program. Ranks write only their own cells in a phase. Phases end with a sync or an
// arrive of all ranks, and a barrier. So MPI defines which of two writes to the same byte is the later one.
// Ranks read their own writes. After such a step and a barrier they also read the writes of all ranks.
struct Step {
  enum class Kind : std::uint8_t {
    write,
    read,
    sync,
    arrive,
    barrier,
    close,
    direct,        // from now on writes go past the pipeline
    pipeline,      // ... through the pipeline again
    settle,        // settles the ledgers of earlier closes, as before every open
    open,          // opens the file again, after all ranks have closed it
    stage,         // all ranks stage another file, also after errors
    rest,          // computes for `stride` ns
    open_reader,   // all ranks open the file once more, for reading through the agents, also after errors
    read_through,  // reads the positions `extent` of a view's data by that handle
    sync_reader,
    close_reader,
    // Of a file that is read until it is written:
    tell_writes,  // the ranks tell each other whether they have written, also after errors
    leave,        // begins a collective write
  };
  Kind kind;
  std::uint32_t pieces = 1;  // write: the pieces of one call, each further on by a stride
  Extent extent = {};        // write, read
  std::uint64_t stride = 0;
  std::uint32_t view = 0;  // read_through: an index of Reads::views
  // read_through: it returns before its bytes have come, and so many of these reads may be on their way; 0:
  // it waits.
  std::uint32_t on_their_way = 0;

  Extent piece(std::uint32_t i) const { return {extent.begin + i * stride, extent.end + i * stride}; }
};

enum class FaultKind : std::uint8_t {
  slow_disk,        // `amount` times, for a while
  full_disk,        // no more than `amount` bytes
  write_error,      // EIO or ETIMEDOUT of a write, after `amount` more
  sync_error,       // ... of a datasync, after `amount` more
  cut,              // between `node` and `other`, for a while
  delay,            // `amount` ns more from and to `node`, for a while
  pause,            // the agent's process stops for a while, so it sees its clock jump
  corrupt,          // one bit of the bytes to `node` changes
  kill_agent,       // the process
  lose_node,        // the host, with its ranks and its cache
  clock_jump,       // of the host's clock, by `amount` ns
  terminate_agent,  // SIGTERM: the agent writes its bytes to the file and goes on serving
  kill_group,       // the agent and the ranks of a node, all at once
  kill_ranks,       // the ranks of a node; its agent lives on
  read_error,       // EIO of a read, after `amount` more
  cut_short,        // another machine truncates the file to `amount` bytes
  close_error,      // a close loses accepted bytes and says so, after `amount` more
  stall,            // the file system answers nothing for a while
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

// The programs of the ranks from one opening of the file to the next, and the faults meanwhile.
struct Play {
  std::vector<std::vector<Step>> programs;  // by rank
  std::optional<Stage> stage;               // for which they have a step
  std::vector<Fault> faults;
};

// A further opening of the file, after all ranks have closed it or have died. Dead agents and lost hosts have
// started again by then.
struct Opening : Play {
  std::uint64_t after_ns = 0;
  bool keeps_ranks = false;   // keeps ranks with living agents; otherwise all ranks are new processes
  bool keeps_agents = false;  // keeps living agents; otherwise they leave before
  Meanwhile before;
  // The recovery of this node's journals is killed this long after its beginning; 0: not killed.
  std::uint64_t recovery_dies_ns = 0;
  std::uint32_t recovery_node = 0;
};

// In such runs no agent runs at first, and ranks start one.
struct Start {
  std::uint64_t takes_ns;  // until the agent runs
  std::uint64_t costs_ps;  // the time of a start that the ranks expect
  std::uint64_t call_ps;   // the time of a write of the MPI library that they expect
};

// The agents of all nodes.
struct AgentPlan {
  transport::LinkTimes times;
  std::uint64_t cpu_bytes_per_second = 4'000'000'000;  // that an agent moves out of rings
  // An agent reports progress at most this often, and checks at twice this time.
  std::uint64_t share_every_ns = 250'000'000;
  std::uint64_t write_within_ns = 5'000'000'000;  // the setting
  std::optional<Start> start;                     // none: agents run from the beginning
};

// The processes of all ranks.
struct RankPlan {
  Settings settings;
  std::uint64_t ring_bytes = 0;                // of each rank
  std::uint64_t patience_ns = 60'000'000'000;  // the bound on waits without progress
  std::uint32_t slice_ms = 100;                // how often a rank looks during a wait
  client::SieveBounds sweep;                   // of writes past the pipeline; no window: they do not sieve
};

// How the programs of some runs use Millrace, apart from their steps.
struct Conduct {
  std::vector<bool> unable;  // by rank, on one node: the rank can start no agent, and joins too late
  std::optional<std::uint32_t> onlooker;  // a rank that does not open the file with the others, and reads it
  bool apart = false;                     // the nodes do not work together
  bool second_handles = false;            // ranks read by another handle, which they opened before any wrote
  bool heedless = false;                  // programs go on after an error, as many do
};

// The reads through the agents.
struct Reads {
  std::vector<client::FileView> views;  // the first one is the file itself; none: no rank reads so
  transport::RoutePlan plan;            // of the opens
  bool meets_late = false;              // at the opens, only the agents of file servers are needed
  // Ranks open the file for reading and writing. They read it through the agents, by read_through, until they
  // know of a write.
  bool until_written = false;
  std::vector<Fault> faults;  // their times count from the first open for reading through the agents
  std::uint64_t dies_at = 0;  // the ranks of a node die while one of them makes this read; 0: none does
};

// The processor time of a run's processes, in picoseconds, beside Scenario::cpu_bytes_per_second.
struct Costs {
  std::uint32_t cores = 0;      // that all nodes share, as a virtual cluster's do; 0: each agent has its own
  std::uint64_t record_ps = 0;  // an agent takes a record from a ring or a link
  std::uint64_t net_byte_ps = 0;     // an agent sends or receives a byte, kernel, tag and checksum included
  std::uint64_t disk_byte_ps = 0;    // ... writes it, into the kernel's cache
  std::uint64_t rank_record_ps = 0;  // a rank puts a record into its ring
  std::uint64_t rank_byte_ps = 0;    // ... and a byte
};

// The first opening, and all that holds for the whole run.
struct Scenario : Play {
  std::uint64_t seed = 0;
  std::uint32_t nodes = 1;
  std::uint32_t ranks_per_node = 1;
  FileSettings settings;
  transport::RoutePlan plan;
  // Only the first node sees the file and is the file server; other nodes have a stand-in.
  bool stands_in = false;
  io::NetOptions net;
  io::DiskOptions disk;
  Costs costs;
  std::uint64_t most_steps = 20'000'000;  // events; more mean an endless run
  std::uint64_t file_bytes = 0;
  AgentPlan agents;
  RankPlan ranks;
  Conduct conduct;
  Reads reads;
  std::vector<Opening> later;
  Meanwhile at_end;  // before the last recovery

  // True if no fault may cause an error of a rank.
  bool benign() const;
  // True if there is no fault at all.
  bool faultless() const;
  // True if bytes of returned writes outlive the agent of their node: strategy journal, and no failing disk.
  bool writes_survive() const;
  // True if writes older than the bound are in the file after any kill, because only a scheduler interferes.
  bool keeps_the_bound() const;
  // True if programs may die and there is no other fault: bytes of returned writes outlive the programs.
  bool only_programs_die() const;
  // True if a close may tell that bytes are lost.
  bool close_fails() const { return has({FaultKind::close_error}); }
  // True if writes or syncs fail.
  bool disk_fails() const;
  // True if the cache of a node may be lost, so that only bytes on the disk are promised.
  bool loses_caches() const { return has({FaultKind::lose_node}); }
  // True if the node's agent is paused for longer than its ranks wait.
  bool stands_still(std::uint32_t node) const;
  std::string describe() const;

 private:
  // Also of reads:
  template <typename Test>
  bool all_faults(Test test) const;
  bool has(std::initializer_list<FaultKind> kinds) const;
  bool has_only(std::initializer_list<FaultKind> kinds) const;
  bool is_benign(const Fault& fault) const;
};

Scenario make_scenario(std::uint64_t seed);

}  // namespace millrace::sim
