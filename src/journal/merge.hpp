// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "journal/reader.hpp"

namespace millrace::journal {

// Yields what a journal says about its target in ascending order of offset, each byte once: where runs
// overlap, the newest record wins.
//
//   run 1   |aaaaaaaaaaaa|      |aaaa|
//   run 2        |bbb|       |bbbbb|
//   gives   |aaaa|bbb|aaa|   |bbbbb|a|
//
// Holds one window for each run that is being merged. With more runs than `memory_bytes` has windows for,
// it merges as many of the oldest runs as it can, then goes on with the next ones from the start of the
// target: the order within a group is ascending, and the last piece for a byte is still the newest.
class MergeReader {
 public:
  // `summary` is that of the same source, clean or torn.
  MergeReader(Source& source, const Summary& summary, std::size_t memory_bytes = 32 * MiB);

  // The next piece; false at the end or on an error. Its data is valid until the next call.
  bool next(Record& piece);
  // clean, unless the journal changed since it was scanned or cannot be read.
  Verdict verdict() const { return verdict_; }
  std::size_t groups() const;

 private:
  // One run: its reader, and what is left of the record it stands at.
  struct Cursor {
    JournalReader reader;
    std::uint64_t end;
    Record left;
    bool live = false;
  };

  bool open_group();
  bool load(Cursor& cursor);
  bool skip_to(Cursor& cursor, std::uint64_t offset);

  Source* source_;
  const Summary* summary_;
  std::size_t window_bytes_;
  std::size_t group_runs_;
  std::size_t next_run_ = 0;
  std::vector<std::unique_ptr<Cursor>> cursors_;
  std::uint64_t passed_ = 0;   // where that piece ended
  bool pending_skip_ = false;  // cursors are still before passed_: its data is in their windows
  Verdict verdict_ = Verdict::clean;
};

}  // namespace millrace::journal
