// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agent/core/intake.hpp"
#include "transport/ring.hpp"

namespace millrace::agent {

// One connected rank: its socket, its ring and the files that it may name. Checks all input of the rank.
// Owned by Rounds; not thread safe.
class Connection {
 public:
  Connection(SenderId id, Fd socket) : id_(id), socket_(std::move(socket)) {}

  SenderId id() const { return id_; }
  int socket() const { return socket_.get(); }
  bool greeted() const { return greeted_; }
  // The number of calls of look().
  std::uint32_t looks() const { return looks_; }
  void look() { ++looks_; }
  std::uint32_t pid() const { return pid_; }
  // The rank's socket has hung up. The agent still drains the ring.
  bool gone() const { return gone_; }
  void set_gone() { gone_ = true; }
  transport::Consumer& ring() { return ring_; }
  const transport::Consumer& ring() const { return ring_; }
  std::uint64_t ring_bytes() const { return ring_bytes_; }
  // The number of records, notes and requests taken from the ring; each record of a bundle counts.
  std::uint64_t records() const { return records_; }

  void greet(transport::Consumer ring, const transport::Hello& hello);
  // `kept`: the ring keeps the file's records until the file's ledger has them.
  void allow(FileSlot file, std::uint64_t record_max_bytes, bool kept, bool writes);
  void forbid(FileSlot file);
  bool allowed(FileSlot file) const { return file < opens_.size() && opens_[file].count > 0; }
  // True if the rank has a file open for writing.
  bool writes() const { return writing_ > 0; }
  // The memory for the bytes that the rank wants. Once.
  Status take_window(Fd memory, std::uint64_t bytes);
  // Bytes of the data of a want go to their place in the window.
  void put_wanted(std::uint32_t request, std::uint32_t position, std::span<const std::byte> bytes);
  // Nothing is put for the want any more.
  void end_want(std::uint32_t request) { wants_.erase(request); }
  // The slots that the rank has open, each once.
  std::vector<FileSlot> files() const;

  // The stamp of the next frame of the ring's snapshot, which must not be empty; 0 unless it has records.
  std::uint64_t next_stamp() const;
  // The pass of this number leaves the next frame in the ring, because of its stamp. True if an earlier pass
  // has left it too.
  bool leave(std::uint64_t stamp, std::uint64_t pass) {
    if (left_.stamp == stamp && left_.position == ring_.position()) return left_.pass < pass;
    left_ = {stamp, ring_.position(), pass};
    return false;
  }
  // Called after drain(): returns the ring's memory up to the first record that its ledger does not have.
  // Behind it, a rescue of the ring finds only records that their ledgers do not have.
  void give_back(const Core& core);
  // True if the ring still keeps a record of the file from before that place.
  bool keeps_before(FileSlot file, std::uint64_t position) const {
    return std::ranges::any_of(keeps_,
                               [=](const Keep& keep) { return keep.file == file && keep.begin < position; });
  }

  // Passes the records of the ring's snapshot with stamps up to `until` to core, and the requests to
  // `requests`. `damaged` gets the slots with a record that does not match its checksum. If broken, `why` has
  // the reason.
  Drained drain(Core& core, std::uint64_t until, std::vector<PendingRequest>& requests,
                std::vector<FileSlot>& damaged, std::string& why);

 private:
  struct Open {
    std::uint32_t count = 0;  // a rank may open a file twice
    std::uint64_t record_max_bytes = 0;
    bool kept = false;
    bool writes = false;
  };
  // The file's records in this part of the ring return when the file's ledger has all records before `mark`.
  // One part may have records of several files.
  struct Keep {
    std::uint64_t begin, end;
    FileSlot file;
    std::uint64_t mark;
  };
  static bool may_be_guests(const transport::FrameHeader& frame);
  Drained take(Core& core, const transport::FrameHeader& frame, const std::byte* payload,
               std::vector<PendingRequest>& requests, std::vector<FileSlot>& damaged, std::string& why);
  Drained take_records(Core& core, const transport::FrameHeader& frame, const std::byte* payload,
                       std::vector<FileSlot>& damaged, std::string& why);
  bool take_request(const transport::FrameHeader& frame, const std::byte* payload,
                    std::vector<PendingRequest>& requests);
  bool take_want(const transport::FrameHeader& frame, const std::byte* payload, PendingRequest& request);
  void keep_until_ledger_has(FileSlot file);

  SenderId id_;
  Fd socket_;
  transport::Consumer ring_;
  std::uint64_t ring_bytes_ = 0;
  std::uint64_t records_ = 0;
  transport::Unbundler bundle_;  // of the frame that Core has taken in part
  std::uint32_t pid_ = 0;
  std::uint32_t looks_ = 0;
  bool greeted_ = false;
  bool gone_ = false;
  struct LeftFrame {
    std::uint64_t stamp = 0;
    std::uint64_t position = 0;
    std::uint64_t pass = 0;
  };
  LeftFrame left_;
  std::vector<Open> opens_;    // by slot
  std::uint32_t writing_ = 0;  // number of slots open for writing
  std::deque<Keep> keeps_;
  // The place of a want's data in the window.
  struct Want {
    std::uint64_t begin;
    std::uint64_t bytes;
  };
  transport::Mapping window_;
  std::map<std::uint32_t, Want> wants_;  // by request
  std::vector<FileSlot> fresh_keeps_;    // kept files with records since the last give_back()
  std::uint64_t fresh_begin_ = 0;        // the place of the first of these records
};

}  // namespace millrace::agent
