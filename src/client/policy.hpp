// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/settings.hpp"
#include "client/series.hpp"

// When a transfer takes the pipeline: every threshold, in one place.
namespace millrace::client {

// Pieces from this size on gain nothing from the pipeline: one pwrite of the MPI library costs about 2 us
// plus the copy into the page cache, the pipeline two more copies (4 us for 16 KiB at 9 GiB/s).
inline constexpr std::uint64_t direct_above_default = 16 * KiB;

// Where the program makes its bytes stable, what counts is when the disk has them: one stream of large writes
// in file order gets them there sooner than the ranks' own, up to larger pieces.
inline constexpr std::uint64_t stable_direct_above = 256 * KiB;

// Transfers of many pieces go through the library's data sieving (read, modify, write under a lock) or one
// pwrite each: the pipeline is worth it up to larger pieces.
inline constexpr std::uint64_t many_pieces = 8;
inline constexpr std::uint64_t many_pieces_direct_above = 256 * KiB;

// Pieces from half such a bound, but at most direct_above_default, to this size may gain or lose: there the
// costs of a series decide, once they are known both ways, and the bound only where they differ by less than
// a tenth.
inline constexpr std::uint64_t unsure_to = 1 * MiB;

// A file on which this many flushes in a row each covered less than this many new bytes is read after every
// few writes: the round trip to the agent costs more than the pipeline gains.
inline constexpr std::uint32_t small_flushes_max = 3;
inline constexpr std::uint64_t small_flush_bytes = 64 * KiB;

// How a transfer was called.
struct Transfer {
  std::uint64_t bytes;
  std::uint64_t pieces;
  bool collective;
  bool nonblocking;
  bool made_stable = false;  // the program syncs its files, or durability is disk
  Costs costs = {};          // of the file's series, as all ranks know them
};

struct Choice {
  bool pipeline;
  const char* why;      // a literal, for the report
  bool unsure = false;  // which way is faster depends on the machine: worth measuring
};

Choice choose(const Settings& process, const FileSettings& file, const Transfer& transfer);

// Sees the pattern of writes and flushes of one file.
class FlushWatch {
 public:
  // A flush that had to ask the agent covered `bytes` written since the last one. True: go direct.
  bool flushed(std::uint64_t bytes);

 private:
  std::uint32_t small_in_a_row_ = 0;
};

}  // namespace millrace::client
