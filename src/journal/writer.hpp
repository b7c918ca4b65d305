// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "io/storage.hpp"
#include "journal/format.hpp"

namespace millrace::journal {

// Appends records to a new, empty journal file. A record is copied when it is appended, so its memory is
// free at once; full batches go to Storage, one after the other, so that a kill leaves a clean prefix.
// Unless it is a log, begins a run by itself wherever a record does not lie behind the one before it.
//
// The tokens of its requests have `owner` in their upper half; the caller hands their completions to
// complete(). Holds two batches of 2 MiB. Deterministic; not thread safe.
class JournalWriter {
 public:
  static Result<std::unique_ptr<JournalWriter>> create(io::Storage& storage, Fd file, std::uint32_t owner,
                                                       const Identity& identity);
  // Nothing may be in flight.
  ~JournalWriter();
  JournalWriter(const JournalWriter&) = delete;
  JournalWriter& operator=(const JournalWriter&) = delete;

  // True if append() may be called: false while both batches are full.
  bool ready() const;
  // One data record of 1 byte to payload_max.
  void append(std::uint64_t offset, std::span<const std::byte> data);
  // Starts writing what is buffered.
  void flush();
  // flush(), then a datasync once all of it is written; what is appended later does not put that off. After
  // it a commit record says what is safe by now: before it, one would be a promise that a crash can break.
  void sync();

  void complete(const io::Completion& completion);

  // The first error; nothing is written after it, and what is appended is dropped.
  Status status() const { return status_; }
  // Nothing is buffered, in flight or to be synced.
  bool idle() const;
  // A request is with Storage.
  bool in_flight() const { return !flying_.empty() || sync_flying_; }
  // So many of the records are in the file, and so many have been datasynced there.
  std::uint64_t written() const { return written_; }
  std::uint64_t stable() const { return stable_; }
  std::uint64_t records() const { return next_sequence_; }  // runs and commits included
  std::uint64_t payload_bytes() const { return payload_bytes_; }
  std::uint64_t file_bytes() const { return position_ + batch_.size(); }
  std::uint64_t runs() const { return runs_; }

 private:
  JournalWriter(io::Storage& storage, io::Handle file, std::uint32_t owner, Layout layout);
  void put(Type type, std::uint64_t offset, std::span<const std::byte> data);
  void start();
  void submit(io::Request request);

  io::Storage& storage_;
  io::Handle file_;
  std::uint32_t owner_;
  Layout layout_;
  std::uint64_t seed_ = 0;         // checksum of the file header
  std::vector<std::byte> batch_;   // being filled; belongs at position_
  std::vector<std::byte> flying_;  // in flight, if not empty
  std::uint64_t position_ = 0;
  std::uint64_t next_sequence_ = 0;
  std::uint64_t payload_bytes_ = 0;
  std::uint64_t runs_ = 0;
  std::optional<std::uint64_t> run_end_;  // a record below it begins a new run
  bool wanted_ = false;                   // flush() was called: the batch goes though it is not full
  bool sync_wanted_ = false;
  bool sync_flying_ = false;
  std::uint64_t flying_end_ = 0;  // records, with those in flight
  std::uint64_t written_ = 0;
  std::uint64_t sync_end_ = 0;  // records that the sync that is wanted is to cover
  std::uint64_t syncing_ = 0;   // ... that the one in flight covers
  // Their payload: of what is wanted, in flight, and told by a commit.
  std::uint64_t sync_payload_ = 0, syncing_payload_ = 0, committed_payload_ = 0;
  std::uint64_t stable_ = 0;
  Status status_;
};

}  // namespace millrace::journal
