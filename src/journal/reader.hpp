// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "extent/extent.hpp"
#include "journal/format.hpp"

namespace millrace::journal {

// The end of a reading, or the reason why it cannot begin. See "What a reader accepts" in FORMAT.md.
enum class Verdict {
  clean,          // at the end of the file
  torn,           // at an incomplete last record; those before it count
  corrupt,        // at a byte that cannot be; use nothing
  not_a_journal,  // another kind of file, or cut within the file header
  unsupported,    // another version
  unreadable,     // the file system reported an error
};

// One word, and one sentence for people.
const char* name(Verdict verdict);
const char* describe(Verdict verdict);
// ok for clean and torn.
Status to_status(Verdict verdict);

// Streams the records of a log in the order of writing, every one of them checked, through a window of
// bounded size.
class JournalReader {
 public:
  // `file` outlives the reader. `window_bytes` grows to the largest record if it has to.
  explicit JournalReader(const Fd& file, std::size_t window_bytes = 256 * KiB);

  // Reads and checks what the log begins with. `clean` if records may be read.
  Verdict open();
  const FileHeader& header() const { return start_.header; }
  const StateSector& state() const { return start_.sector; }

  // The next record, whose data is valid until the next call; false at the end, and then verdict() and
  // position() say how and where.
  bool next(Record& record);
  Verdict verdict() const { return verdict_; }
  std::uint64_t position() const { return position_; }
  // True if the last record was a commit.
  bool committed() const { return committed_; }

 private:
  bool stop(Verdict verdict);
  // Makes [position, position + bytes) available and returns what there is of it.
  std::optional<std::span<const std::byte>> window(std::uint64_t position, std::size_t bytes);
  bool zero_to_the_end();

  const Fd* file_;
  std::size_t window_bytes_;
  std::vector<std::byte> window_;
  std::uint64_t window_begin_ = 0;
  Start start_ = {};
  std::uint64_t position_ = sizeof(Start);
  std::uint64_t sequence_ = 0;
  std::uint64_t payload_bytes_ = 0;  // of the records before
  Verdict verdict_ = Verdict::clean;
  bool committed_ = false;
};

// All about a log, after reading all of it once.
struct Summary {
  Verdict verdict = Verdict::clean;
  std::uint64_t end = 0;  // position after the last good record, where the log ends, is torn or corrupt
  FileHeader header = {};
  StateSector state = {};
  std::uint64_t records = 0;  // data records
  std::uint64_t commits = 0;
  std::uint64_t payload_bytes = 0;
  bool committed = false;
  Extent extent;
};

Summary scan(const Fd& file);

// For a log that is corrupt at `summary.end`: true if a valid commit record of what lies there is anywhere
// behind that, so that somebody may count on what is damaged.
bool commit_behind(const Fd& file, const Summary& summary);

// True for what a crash of the node may leave of a log in which nothing was ever committed: a header that
// came to the disk in parts, or not at all (zeros), and nothing behind it that looks like a commit.
bool never_committed(const Fd& file);

}  // namespace millrace::journal
