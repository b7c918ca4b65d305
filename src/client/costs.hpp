// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// What writes cost on a file system: the numbers by which client/policy.hpp decides (ADR 20).
namespace millrace::client {

// One transfer of a rank.
struct Transfer {
  std::uint64_t bytes;
  std::uint64_t pieces;  // that are contiguous in the file and in memory
  std::uint64_t calls;   // the MPI library's writes for it: the pieces of the file
  // What is read, changed and rewritten instead of writing piece by piece (sieve.hpp); 0: it must not be.
  std::uint64_t swept = 0;
  bool collective = false;
  bool nonblocking = false;
  bool made_stable = false;  // the program syncs its files, or durability is disk
  bool routed = false;       // the file's bytes pass agents of several nodes
  bool goes_on = false;      // a further part of a call that has been counted
  bool met = false;          // the ranks have met in the MPI library since the transfer before
  // How much longer the agent's work takes because ranks that wait for each other poll, in 1024ths:
  // crowding().
  std::uint64_t crowding = 0;
};

// Ranks that wait in the MPI library poll, or yield and poll again. Where they outnumber the processors, the
// agent, whose two busy threads get a fair share of the processors, works slower by this. In 1024ths; 0: it
// has room.
constexpr std::uint64_t crowding(std::uint64_t ranks, std::uint64_t processors) {
  return processors == 0 || ranks < processors ? 0 : 1024 * ranks / (2 * processors);
}

// The time that a node needs for the work of all its ranks, who share its processors, network and disk: that
// of one rank's part is told, in picoseconds. Fixed layout: rank 0 gives them to all ranks at open, so that
// all go the same way.
struct Costs {
  std::uint64_t call_ps = 3'400'000;      // a write of the MPI library, whatever its size
  std::uint64_t byte_ps = 200;            // ... and each byte of it, until the file system has it
  std::uint64_t disk_byte_ps = 600;       // ... from there to the disk
  std::uint64_t swept_byte_ps = 170;      // a byte of the file that a sieve reads and rewrites
  std::uint64_t swept_piece_ps = 14'000;  // ... and each piece that it changes in there
  std::uint64_t record_ps = 100'000;      // a piece on its way through the pipeline
  std::uint64_t bundled_ps = 18'000;      // ... a small one among others of the same call, copied once more
  std::uint64_t through_byte_ps = 330;    // ... and each byte of it, beside byte_ps, which the sink takes too
  std::uint64_t trip_ps = 40'000'000;     // a question to the agent and its answer
  std::uint64_t start_ps =
      0;  // the start of an agent on a node that is idle; 0: it is started for the first piece
  // What files have taken of what was expected of them, in 1024ths, each way.
  std::uint64_t taught_direct = taught_nothing;
  std::uint64_t taught_pipeline = taught_nothing;

  static constexpr std::uint64_t taught_nothing = 1024;
  static constexpr std::uint64_t start_of_an_agent_ps = 6'000'000'000;
};

// Where nothing is known of a file system.
constexpr Costs typical_costs() {
  Costs costs;
  costs.start_ps = Costs::start_of_an_agent_ps;
  return costs;
}

// What a transfer is expected to take either way.
struct Expected {
  std::uint64_t direct_ps = 0;
  std::uint64_t pipeline_ps = 0;
};

Expected expected(const Costs& costs, const Transfer& transfer);

// As text, a name and a number a line. parse() changes only what it finds there; false if a line is no such
// pair, or a number is out of range: nothing is changed then.
std::string to_text(const Costs& costs);
bool parse(std::string_view text, Costs& costs);

// What files took one way, beside what was expected: of one rank, or joined with those of others.
struct Observed {
  std::uint64_t took_ns = 0;      // of ranks that worked at the same time: the slowest one's
  std::uint64_t expected_ns = 0;  // of all of them
  void join(const Observed& other) {
    took_ns = took_ns > other.took_ns ? took_ns : other.took_ns;
    expected_ns += other.expected_ns;
  }
};

// `taught` after that. Half of what it says is new, so that one run in cold memory does not turn a decision
// for long; where nothing was observed, half of what was known is forgotten, so that a way is not left for
// good.
std::uint64_t learn(std::uint64_t taught, const Observed& observed);

}  // namespace millrace::client
