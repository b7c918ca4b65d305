// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "extent/extent.hpp"

// The costs of writes on a file system. client/costs/policy.hpp decides by these numbers (ADR 20).
namespace millrace::client {

// How much longer each part takes than by the costs, in 1024ths: the MPI library's calls on a file, and the
// agent's work for it. 0: not known. All members are words that grow with the cost: ranks agree on the
// greatest.
struct Factors {
  std::uint64_t library = 0;
  std::uint64_t agent = 0;
};

// One transfer of a rank.
struct Transfer {
  std::uint64_t bytes;
  std::uint64_t pieces;  // pieces that are contiguous in the file and in memory
  std::uint64_t calls;   // writes that the MPI library makes for it: the pieces of the file
  // Bytes that a sieve would read, change and rewrite (sieve.hpp); 0: sieving is not possible.
  std::uint64_t swept = 0;
  bool nonblocking = false;
  bool made_stable = false;  // the program syncs its files, or durability is disk
  bool routed = false;       // the file's bytes pass agents of several nodes
  bool goes_on = false;      // a further part of a call that has been counted
  bool entered = false;      // the file is in the pipeline
  Extent hull = {};          // of its bytes in the file, as far as they are known
  // The cost of the question that the library's write has to ask first, in trips. 0: it asks nothing. 1: the
  // agent of this node has pending bytes there. trips_between_nodes: agents of other nodes may have some.
  std::uint64_t trips = 0;
  bool met = false;  // the ranks have met in the MPI library since the previous transfer
  // How much longer the agent's work takes because waiting ranks poll, in 1024ths: crowding().
  std::uint64_t crowding = 0;
  Factors factors = {};
};

// A rank's question passes its node's agent and that of the file server, and their answers come back.
constexpr std::uint64_t trips_between_nodes = 4;

// How much slower the agent works because of polling ranks, in 1024ths. Ranks that wait in the MPI library
// poll, or yield and poll again. If they occupy all processors, the two busy threads of the agent get only a
// fair share. 0: a processor is free for the agent.
constexpr std::uint64_t crowding(std::uint64_t ranks, std::uint64_t processors) {
  return processors == 0 || ranks < processors ? 0 : 1024 * ranks / (2 * processors);
}

// The time, in picoseconds, that a node needs for the work of all its ranks, which share its processors,
// network and disk. Each number is for one rank's part. The layout is fixed: rank 0 sends the costs to all
// ranks at open, so that all ranks go the same way.
struct Costs {
  std::uint64_t call_ps = 3'400'000;      // a write of the MPI library, without its bytes
  std::uint64_t byte_ps = 200;            // a byte of a write, until the file system has it
  std::uint64_t disk_byte_ps = 600;       // a byte's way from the file system to the disk
  std::uint64_t swept_byte_ps = 170;      // a byte of the file that a sieve reads and rewrites
  std::uint64_t swept_piece_ps = 14'000;  // a piece that a sieve puts into these bytes
  std::uint64_t record_ps = 100'000;      // a piece on its way through the pipeline
  std::uint64_t bundled_ps = 18'000;      // a small piece in a bundle, which costs one more copy
  std::uint64_t through_byte_ps = 330;    // a byte of a record; the sink takes byte_ps in addition
  std::uint64_t trip_ps = 40'000'000;     // a question to the agent and its answer
  std::uint64_t start_ps = 0;  // an agent's start on an idle node; 0: start it at the first piece, and wait

  static constexpr std::uint64_t start_of_an_agent_ps = 6'000'000'000;

  // True if they come from a record, not from this file.
  bool measured() const;
};

// The costs of a file system without a record.
constexpr Costs typical_costs() {
  Costs costs;
  costs.start_ps = Costs::start_of_an_agent_ps;
  return costs;
}

// The expected time of a transfer, for either way.
struct Expected {
  std::uint64_t direct_ps = 0;
  std::uint64_t pipeline_ps = 0;
  std::uint64_t calls_ps = 0;  // of the library's calls alone, by the costs
};

Expected expected(const Costs& costs, const Transfer& transfer);

// The text has a name and a number per line. parse() changes only the costs that the text names. It returns
// false and changes no cost if a line is malformed or a number is out of range.
std::string to_text(const Costs& costs);
bool parse(std::string_view text, Costs& costs);

}  // namespace millrace::client
