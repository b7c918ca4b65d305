// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// The costs of writes on a file system. client/policy.hpp decides by these numbers (ADR 20).
namespace millrace::client {

// One transfer of a rank.
struct Transfer {
  std::uint64_t bytes;
  std::uint64_t pieces;  // that are contiguous in the file and in memory
  std::uint64_t calls;   // the MPI library's writes for it: the pieces of the file
  // Bytes that a sieve would read, change and rewrite (sieve.hpp); 0: sieving is not possible.
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
// agent, whose two busy threads get a fair share of the processors, works slower by this. In 1024ths; 0: a
// processor is free for the agent.
constexpr std::uint64_t crowding(std::uint64_t ranks, std::uint64_t processors) {
  return processors == 0 || ranks < processors ? 0 : 1024 * ranks / (2 * processors);
}

// The time, in picoseconds, that a node needs for the work of all its ranks, which share its processors,
// network and disk. Each number is for one rank's part. The layout is fixed: rank 0 sends the costs to all
// ranks at open, so that all ranks go the same way.
struct Costs {
  std::uint64_t call_ps = 3'400'000;      // a write of the MPI library, whatever its size
  std::uint64_t byte_ps = 200;            // ... and each byte of it, until the file system has it
  std::uint64_t disk_byte_ps = 600;       // ... from there to the disk
  std::uint64_t swept_byte_ps = 170;      // a byte of the file that a sieve reads and rewrites
  std::uint64_t swept_piece_ps = 14'000;  // ... and each piece that it changes in there
  std::uint64_t record_ps = 100'000;      // a piece on its way through the pipeline
  std::uint64_t bundled_ps = 18'000;      // ... a small one in a bundle, copied once more
  std::uint64_t through_byte_ps = 330;    // ... and each byte of it, beside byte_ps, which the sink takes too
  std::uint64_t trip_ps = 40'000'000;     // a question to the agent and its answer
  std::uint64_t start_ps = 0;             // an agent's start on an idle node; 0: at the first piece
  // The time of files by the expected time, in 1024ths, for each way.
  std::uint64_t taught_direct = taught_nothing;
  std::uint64_t taught_pipeline = taught_nothing;

  static constexpr std::uint64_t taught_nothing = 1024;
  static constexpr std::uint64_t start_of_an_agent_ps = 6'000'000'000;
};

// For a file system without a record.
constexpr Costs typical_costs() {
  Costs costs;
  costs.start_ps = Costs::start_of_an_agent_ps;
  return costs;
}

// The expected time of a transfer, for either way.
struct Expected {
  std::uint64_t direct_ps = 0;
  std::uint64_t pipeline_ps = 0;
};

Expected expected(const Costs& costs, const Transfer& transfer);

// As text: a name and a number per line. parse() changes only the costs that the text names. It returns false
// and changes nothing if a line is no such pair, or a number is out of range.
std::string to_text(const Costs& costs);
bool parse(std::string_view text, Costs& costs);

// The time of files with one way, and the expected time: of one rank, or of several.
struct Observed {
  std::uint64_t took_ns = 0;      // of the slowest of the ranks, which work at the same time
  std::uint64_t expected_ns = 0;  // of all of them
  void join(const Observed& other) {
    took_ns = took_ns > other.took_ns ? took_ns : other.took_ns;
    expected_ns += other.expected_ns;
  }
};

// `taught` after that observation. Half of the result is new, so that one run in cold memory does not turn a
// decision for long. Without an observation, half of the old value is forgotten, so that no way is given up
// for good.
std::uint64_t learn(std::uint64_t taught, const Observed& observed);

}  // namespace millrace::client
