// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "extent/extent.hpp"
#include "journal/format.hpp"
#include "journal/source.hpp"

namespace millrace::journal {

// How reading ended, or why it cannot begin. See "What a reader accepts" in FORMAT.md.
enum class Verdict {
  clean,          // at the end of the file
  torn,           // at an incomplete last record; those before it count
  corrupt,        // at a byte that cannot be; use nothing
  not_a_journal,  // another kind of file, or cut within the file header
  unsupported,    // another version
  foreign,        // of another job or target
  unreadable,     // the source reported an error
};

// One sentence for people.
const char* describe(Verdict verdict);
// ok for clean and torn.
Status to_status(Verdict verdict);

struct Record {
  Type type = Type::data;
  std::uint64_t sequence = 0;
  std::uint64_t offset = 0;         // in the target
  std::span<const std::byte> data;  // valid until the next call
  std::uint64_t position = 0;       // of its header, in the journal
};

// Where a reader stands: enough to begin again there.
struct Place {
  std::uint64_t position = sizeof(FileHeader);
  std::uint64_t sequence = 0;
  std::uint64_t payload_bytes = 0;       // of the data records before
  std::optional<std::uint64_t> run_end;  // target offset below which a record of this run may not lie
};

// Streams the records of a journal, every one of them checked, through a window of bounded size.
class JournalReader {
 public:
  // `window_bytes` grows to the largest record if it has to.
  explicit JournalReader(Source& source, std::size_t window_bytes = 256 * KiB);

  // Reads and checks the file header. `clean` if records may be read.
  Verdict open();
  const FileHeader& header() const { return header_; }
  // True if the journal was written by this job for this target.
  bool belongs_to(std::uint64_t job_hash, const FileIdentity& target) const;

  // The next record; false at the end, and then verdict() and place().position say how and where.
  bool next(Record& record);
  Verdict verdict() const { return verdict_; }
  const Place& place() const { return place_; }
  // True if the last record was a commit.
  bool committed() const { return committed_; }

  // Goes on at a place, instead of at the start, of the journal that another reader opened.
  void resume(const FileHeader& header, const Place& place);
  // Drops the window, to save memory until the next call.
  void release_window();

 private:
  bool stop(Verdict verdict);
  // Makes [position, position + bytes) available and returns what there is of it.
  std::optional<std::span<const std::byte>> window(std::uint64_t position, std::size_t bytes);
  bool valid(const RecordHeader& header) const;
  bool zero_to_the_end();

  Source* source_;
  std::size_t window_bytes_;
  std::vector<std::byte> window_;
  std::uint64_t window_begin_ = 0;
  FileHeader header_ = {};
  Place place_;
  Verdict verdict_ = Verdict::clean;
  bool committed_ = false;
};

// One sorted run: place of its first record, and where it ends in the journal.
struct RunInfo {
  Place begin;
  std::uint64_t end = 0;
  std::uint64_t records = 0;
  Extent extent;  // hull, in the target
};

// All about a journal, after reading all of it once.
struct Summary {
  Verdict verdict = Verdict::clean;
  std::uint64_t end = 0;  // position after the last good record; where it is torn or corrupt
  FileHeader header = {};
  std::uint64_t records = 0;  // data records
  std::uint64_t commits = 0;
  std::uint64_t payload_bytes = 0;
  std::uint64_t largest_payload = 0;
  bool committed = false;
  Extent extent;
  std::vector<RunInfo> runs;
};

Summary scan(Source& source);

// For a log that is corrupt at `summary.end`: true if a valid commit record of what lies there is anywhere
// behind that, so that somebody may count on what is damaged.
bool commit_behind(Source& source, const Summary& summary);

// True for what a crash of the node may leave of a journal in which nothing was ever committed: a header that
// came to the disk in parts, or not at all (zeros), and nothing behind it that looks like a commit.
bool never_committed(Source& source);

}  // namespace millrace::journal
