// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "journal/merge.hpp"

#include <algorithm>

namespace millrace::journal {

namespace {

std::uint64_t end_of(const Record& record) { return record.offset + record.data.size(); }

}  // namespace

MergeReader::MergeReader(Source& source, const Summary& summary, std::size_t memory_bytes)
    : source_(&source), summary_(&summary) {
  window_bytes_ = std::max<std::size_t>(64 * KiB, record_bytes(summary.largest_payload));
  group_runs_ = std::max<std::size_t>(1, memory_bytes / window_bytes_);
  // Few runs: larger windows for each, so that reads are longer.
  const std::size_t runs = std::max<std::size_t>(1, std::min(group_runs_, summary.runs.size()));
  window_bytes_ = std::clamp<std::size_t>(memory_bytes / runs, window_bytes_,
                                          std::max(window_bytes_, std::size_t{4 * MiB}));
}

std::size_t MergeReader::groups() const { return (summary_->runs.size() + group_runs_ - 1) / group_runs_; }

// Stands the cursor at its next data record; not live at the end of its run.
bool MergeReader::load(Cursor& cursor) {
  cursor.live = false;
  while (cursor.reader.place().position < cursor.end) {
    if (!cursor.reader.next(cursor.left)) {
      // It was good when it was scanned.
      verdict_ = cursor.reader.verdict() == Verdict::unreadable ? Verdict::unreadable : Verdict::corrupt;
      return false;
    }
    if (cursor.left.type != Type::data) continue;
    cursor.live = true;
    return true;
  }
  cursor.reader.release_window();
  return true;
}

// Drops what lies before `offset`.
bool MergeReader::skip_to(Cursor& cursor, std::uint64_t offset) {
  while (cursor.live && cursor.left.offset < offset) {
    if (end_of(cursor.left) > offset) {
      cursor.left.data = cursor.left.data.subspan(offset - cursor.left.offset);
      cursor.left.offset = offset;
    } else if (!load(cursor)) {
      return false;
    }
  }
  return true;
}

bool MergeReader::open_group() {
  cursors_.clear();
  const std::size_t last = std::min(next_run_ + group_runs_, summary_->runs.size());
  for (; next_run_ < last; ++next_run_) {
    const RunInfo& run = summary_->runs[next_run_];
    if (run.records == 0) continue;
    auto cursor =
        std::make_unique<Cursor>(Cursor{JournalReader(*source_, window_bytes_), run.end, {}, false});
    cursor->reader.resume(summary_->header, run.begin);
    if (!load(*cursor)) return false;
    cursors_.push_back(std::move(cursor));
  }
  return true;
}

bool MergeReader::next(Record& piece) {
  if (verdict_ != Verdict::clean) return false;
  if (pending_skip_) {
    pending_skip_ = false;
    for (auto& cursor : cursors_) {
      if (!skip_to(*cursor, passed_)) return false;
    }
  }
  std::erase_if(cursors_, [](const auto& cursor) { return !cursor->live; });
  while (cursors_.empty()) {
    if (next_run_ == summary_->runs.size()) return false;
    if (!open_group()) return false;
  }
  // The smallest offset; among equals the newest.
  const Cursor* best = cursors_.front().get();
  for (const auto& cursor : cursors_) {
    const Record& one = cursor->left;
    if (one.offset < best->left.offset ||
        (one.offset == best->left.offset && one.sequence > best->left.sequence)) {
      best = cursor.get();
    }
  }
  // It counts up to where a newer record begins.
  std::uint64_t until = end_of(best->left);
  for (const auto& cursor : cursors_) {
    const Record& one = cursor->left;
    if (one.sequence > best->left.sequence) until = std::min(until, one.offset);
  }
  piece = best->left;
  piece.data = piece.data.first(until - piece.offset);
  passed_ = until;
  pending_skip_ = true;
  return true;
}

}  // namespace millrace::journal
