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
#include "journal/log_start.hpp"

namespace millrace::journal {

// Writes a log: appends records to a new, empty file, and reads them back in any order. append() copies a
// record, so the caller may change its memory at once. Full batches go to Storage one after the other, so
// that a kill leaves a clean prefix.
//
//   file   | start | segment | segment | batch in flight | batch being filled
//                     ^ read()           in Storage        here
//
// The state in the start is written beside the batches, as a whole. No call waits for the disk.
// The tokens of its requests have an owner's number. The caller hands their completions to complete().
// Holds two batches of 2 MiB. Deterministic; not thread safe.
class Log {
 public:
  // Records that are adjacent in the file. Empty: {file_bytes(), records(), 0} is the place of the next one.
  struct Segment {
    std::uint64_t position = 0;  // in the file
    std::uint64_t sequence = 0;  // of the first record
    std::uint64_t bytes = 0;
  };

  // A log whose file is still to come. Until open(), it holds the records in memory.
  Log(io::Storage& storage, std::uint32_t& next_owner, const Identity& identity);
  // `file`: new and empty. Call it once. Records follow behind the start.
  Status open(Fd file);
  // Nothing may be in flight.
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // True if append() may be called. False while both batches are full.
  bool ready() const;
  // Appends one data record of 1 byte to payload_max. `stamp`: the time of its write, by transport/stamp.hpp.
  void append(std::uint64_t offset, std::span<const std::byte> data, std::uint64_t stamp = 0);
  // Starts writing the buffered records.
  void flush();
  // Flushes, and starts a datasync when all earlier records are written. Later records do not delay it. After
  // the datasync, a commit record names the safe records. An earlier commit record would be a promise that a
  // crash can break.
  void sync();

  // Other processes see the latest state as soon as the storage has written it. States between may be left
  // out. True if the state is another one. State::done is the last one.
  bool set_state(LogState state);
  void show_life(bool progress);
  // 0: the file's mtime is the last sign of life.
  void set_alive(std::uint64_t alive_ns);
  // The agent that brings the records to the target: the number of its page (transport/presence.hpp), or 0.
  void set_agent(std::uint64_t number);
  // The end of the records appended so far.
  LogPlace place() const { return {file_bytes(), appended_.records, appended_.payload_bytes}; }
  // Recovery shall not use the records before `place` any more. Places only grow.
  void forget(const LogPlace& place);
  // The number of records that recovery does not use even after a crash of the node. It takes a sync() after
  // forget().
  std::uint64_t forgotten() const { return forgotten_; }
  // Notes who may write to the target from now on, and the state that the target has now.
  void note(Writers writers, const FileState& target);
  // See LogStart.
  bool says(Writers writers) const { return start_.says(writers); }

  // Later records overwrite all earlier ones, which nobody reads again. The log must be idle.
  void rewind() { position_ = sizeof(Start); }

  // Starts to read a written segment; one at a time.
  void read(const Segment& segment);
  bool reading() const { return read_.under_way; }
  Status read_status() const { return read_.status; }
  // Calls take(offset, data) for each record of the segment that was read.
  template <class Take>
  Status take(Take&& take) const;

  bool owns(std::uint32_t owner) const { return owner == owner_; }
  void complete(const io::Completion& completion);

  // Of its requests.
  std::uint64_t completions() const { return completions_; }

  // The first error. After it, the log writes nothing and drops appended records.
  Status status() const { return status_; }
  // True if no record waits to be written, and no write or datasync is due or in flight.
  bool idle() const;
  // True if a write or datasync is with Storage.
  bool in_flight() const { return !flying_.empty() || syncing_ || start_.under_way(); }
  // The numbers of records in the file, on its disk, and appended. Commit records count too.
  std::uint64_t written() const { return written_.records; }
  std::uint64_t stable() const { return stable_.records; }
  std::uint64_t records() const { return appended_.records; }
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

  void start();
  void put_state();
  void submit(io::Request request);
  void fail(Status status);

  io::Storage& storage_;
  std::optional<io::Handle> file_;
  std::uint32_t owner_;
  LogStart start_;
  std::vector<std::byte> batch_;   // being filled; belongs at position_
  std::vector<std::byte> flying_;  // in flight, if not empty
  std::uint64_t position_ = sizeof(Start);
  Mark appended_;
  Mark flying_end_;                               // behind the batch in flight
  Mark written_;                                  // behind the last record in the file
  std::optional<Mark> syncing_;                   // written_ when the datasync in flight began
  Mark stable_;                                   // behind the last record on the disk
  std::uint64_t forgetting_ = 0, forgotten_ = 0;  // records, by the datasync in flight and by earlier ones
  std::uint64_t completions_ = 0;
  bool wanted_ = false;          // the batch has to be written although it is not full
  std::optional<Mark> to_sync_;  // a datasync is due when written_ has reached this
  Status status_;
  Read read_;  // the last one
};

template <class Take>
Status Log::take(Take&& take) const {
  if (!read_.status.ok()) return read_.status;
  std::span<const std::byte> rest(read_.bytes);
  for (std::uint64_t sequence = read_.segment.sequence; !rest.empty(); ++sequence) {
    const std::optional<Record> record = record_at(rest, start_.now().header.checksum, sequence);
    if (!record) return Code::corrupt;
    if (record->type == Type::data) take(record->offset, record->data);
    rest = rest.subspan(record_bytes(record->data.size()));
  }
  return {};
}

}  // namespace millrace::journal
