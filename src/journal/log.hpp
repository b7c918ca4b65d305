// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "io/storage.hpp"
#include "journal/format.hpp"

namespace millrace::journal {

// A log that is being written: appends records to a new, empty file, and reads them back in any order.
// append() copies a record, so the caller may change its memory at once. Full batches go to Storage, one
// after the other, so that a kill leaves a clean prefix.
//
//   file   | start | segment | segment | batch in flight | batch being filled
//                     ^ read()           in Storage        here
//
// Takes an owner's number for the tokens of its requests; the caller hands their completions to complete().
// Holds two batches of 2 MiB. Deterministic; not thread safe.
class Log {
 public:
  // Records that lie behind each other.
  struct Segment {
    std::uint64_t position = 0;  // in the file
    std::uint64_t sequence = 0;  // of the first record
    std::uint64_t bytes = 0;
  };

  static Result<std::unique_ptr<Log>> create(io::Storage& storage, Fd file, std::uint32_t& next_owner,
                                             const Identity& identity);
  // Nothing may be in flight.
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // True if append() may be called: false while both batches are full.
  bool ready() const;
  // One data record of 1 byte to payload_max.
  void append(std::uint64_t offset, std::span<const std::byte> data);
  // Starts writing what is buffered.
  void flush();
  // flush(), then a datasync once all of it is written; later records do not delay that. After the datasync a
  // commit record says which records are safe. An earlier commit record would be a promise that a crash can
  // break.
  void sync();

  // Other processes see the new state at once.
  void set_state(State state);
  void show_progress();

  // An empty segment where the next record will be.
  Segment end() const { return {file_bytes(), records(), 0}; }
  // Reads back a segment that is written; one at a time.
  void read(const Segment& segment);
  bool reading() const { return read_.under_way; }
  Status read_status() const { return read_.status; }
  // The records of the segment that was read: calls take(offset, data) for each.
  template <class Take>
  Status take(Take&& take) const;

  bool owns(std::uint32_t owner) const { return owner == owner_; }
  void complete(const io::Completion& completion);

  // The first error; nothing is written after it, and what is appended is dropped.
  Status status() const { return status_; }
  // Nothing is buffered, being written or to be synced.
  bool idle() const;
  // A write or datasync is with Storage.
  bool in_flight() const { return !flying_.empty() || syncing_; }
  // The number of records in the file, and the number of datasynced ones.
  std::uint64_t written() const { return written_.records; }
  std::uint64_t stable() const { return stable_.records; }
  std::uint64_t records() const { return appended_.records; }  // commits included
  std::uint64_t file_bytes() const { return position_ + batch_.size(); }

 private:
  // A place in the order of writing.
  struct Mark {
    std::uint64_t records = 0;
    std::uint64_t payload_bytes = 0;
  };
  struct Read {
    bool under_way = false;
    Segment segment;
    std::vector<std::byte> bytes;
    Status status;
  };

  Log(io::Storage& storage, io::Handle file, std::uint32_t owner, std::uint64_t seed);
  void start();
  void put_state();
  void submit(io::Request request);

  io::Storage& storage_;
  io::Handle file_;
  std::uint32_t owner_;
  std::uint64_t seed_;  // checksum of the file header
  State state_ = State::open;
  std::uint64_t progress_ = 0;
  std::vector<std::byte> batch_;   // being filled; belongs at position_
  std::vector<std::byte> flying_;  // in flight, if not empty
  std::uint64_t position_ = sizeof(Start);
  Mark appended_;
  Mark flying_end_;              // with the batch in flight
  Mark written_;                 // in the file
  std::optional<Mark> syncing_;  // a datasync that is in flight covers it
  Mark stable_;                  // on the disk
  bool wanted_ = false;          // flush() was called: the batch goes though it is not full
  std::optional<Mark> to_sync_;  // sync() was called: a datasync follows when the file has this much
  Status status_;
  Read read_;  // the last one
};

template <class Take>
Status Log::take(Take&& take) const {
  if (!read_.status.ok()) return read_.status;
  std::span<const std::byte> rest(read_.bytes);
  for (std::uint64_t sequence = read_.segment.sequence; !rest.empty(); ++sequence) {
    const std::optional<Record> record = record_at(rest, seed_, sequence);
    if (!record) return Code::corrupt;
    if (record->type == Type::data) take(record->offset, record->data);
    rest = rest.subspan(record_bytes(record->data.size()));
  }
  return {};
}

}  // namespace millrace::journal
