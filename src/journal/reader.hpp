// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "extent/extent.hpp"
#include "journal/format.hpp"

namespace millrace::journal {

// The place at which reading ended, or the reason why it cannot begin. See "What a reader accepts" in
// FORMAT.md.
enum class Verdict {
  clean,          // the end of the file
  torn,           // an incomplete last record; the records before it are good
  corrupt,        // an invalid byte; use no record
  not_a_journal,  // another kind of file, or shorter than the file header
  unsupported,    // another version
  unreadable,     // the file system reported an error
};

// One word.
const char* name(Verdict verdict);
// A phrase for users.
const char* describe(Verdict verdict);
// ok for clean and torn.
Status to_status(Verdict verdict);

// Reads and checks the records of a log in the order of writing, through a window of bounded size.
class JournalReader {
 public:
  // `file` outlives the reader. The window grows to the largest record if necessary.
  explicit JournalReader(const Fd& file, std::size_t window_bytes = 256 * KiB);

  // Reads and checks the header and the state. `clean`: next() may be called.
  Verdict open();
  const FileHeader& header() const { return start_.header; }
  const StateSector& state() const { return start_.sector; }

  // Reads the next record. Its stamp is never below that of an earlier one: a writer takes a record with a
  // lower stamp later only if no order is promised between both. Its data is valid until the next call. False
  // at the end: verdict() and position() then describe the end.
  bool next(Record& record);
  Verdict verdict() const { return verdict_; }
  std::uint64_t position() const { return position_; }
  // True if the last record was a commit.
  bool committed() const { return committed_; }

 private:
  bool stop(Verdict verdict);
  // Makes [position, position + bytes) available, and returns it as far as the file has it.
  std::optional<std::span<const std::byte>> window(std::uint64_t position, std::size_t bytes);
  bool zero_to_the_end();

  const Fd* file_;
  std::size_t window_bytes_;
  std::vector<std::byte> window_;
  std::uint64_t window_begin_ = 0;
  Start start_ = {};
  std::uint64_t position_ = sizeof(Start);
  std::uint64_t sequence_ = 0;
  std::uint64_t payload_bytes_ = 0;  // of the records read so far
  std::uint64_t stamp_ = 0;          // the highest so far
  Verdict verdict_ = Verdict::clean;
  bool committed_ = false;
};

// The result of reading a whole log.
struct Summary {
  Verdict verdict = Verdict::clean;
  std::uint64_t end = 0;  // position behind the last good record
  FileHeader header = {};
  StateSector state = {};
  std::uint64_t records = 0;  // data records
  std::uint64_t commits = 0;
  std::uint64_t payload_bytes = 0;
  bool committed = false;  // the last record is a commit
  Extent extent;
};

// Calls `goes_on` once per 16 MiB.
Summary scan(const Fd& file, const std::function<void()>& goes_on = {});

// For a log that is corrupt at `summary.end`: true if a valid commit record behind that place covers the
// damaged records, so that a program may rely on them. True too if the file cannot be read.
bool commit_behind(const Fd& file, const Summary& summary);

// The boot in which the log was begun, also of a damaged log; 0: it does not tell.
std::uint64_t boot_of(const Fd& file);

// True if a crash of the node may have left this file of a log without any commit: the header has reached the
// disk in parts or not at all (zeros), and no bytes behind it look like a commit record.
bool never_committed(const Fd& file);

}  // namespace millrace::journal
