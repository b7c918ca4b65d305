// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "io/storage.hpp"
#include "journal/log.hpp"

namespace millrace::agent {

// The records of this node's ranks for one target, in the order of writing, in a file of the journal
// directory, until they are in the target. Durability node and strategy journal promise this. A lock on the
// file lives as long as this process; after its death recovery.hpp writes the records to the target.
//
//   off      no file: nothing was written since it was last cleared
//   kept     records are appended
//   failing  the disk took no more: no record is taken until all is in the target, for a log with a gap would
//            bring old bytes back
//   given up there is none, and why is in problem()
//
// Made at the first record. Deterministic; not thread safe.
class Ledger {
 public:
  Ledger(io::Storage& storage, std::uint32_t& next_owner, std::string directory, journal::Identity target)
      : storage_(storage),
        next_owner_(next_owner),
        directory_(std::move(directory)),
        target_(std::move(target)) {}
  // Nothing may be in flight. The file stays if somebody counts on it.
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // False while it can take no record.
  bool ready() const { return !failing_ && (log_ == nullptr || log_->ready()); }
  void append(std::uint64_t offset, std::span<const std::byte> data);

  // Counts over the ledger's whole life: records appended; records that the node's file system has, so that
  // they outlive this process; records that its disk has.
  std::uint64_t mark() const { return base_ + appended_; }
  std::uint64_t written() const { return base_ + (log_ ? log_->written() : 0); }
  std::uint64_t stable() const { return base_ + (log_ ? log_->stable() : 0); }
  // Starts writing what is there.
  void flush();
  // ... and brings it to the disk; from now on somebody counts on it.
  void sync();

  bool failing() const { return failing_; }
  bool given_up() const { return given_up_; }
  // Nothing has to be kept.
  bool empty() const { return log_ == nullptr; }
  // All records are in the target: the file goes. False: not yet, requests are in flight.
  bool clear();
  // A failing one whose target fails as well.
  void give_up();
  // True if a close has been answered on the strength of what is in it.
  bool promised() const { return promised_; }
  // Its records still have to reach the target.
  bool counts() const { return log_ != nullptr && (!given_up_ || promised_); }

  // `draining`: nobody has the target open any more.
  void set_draining(bool draining);
  // For those who wait for that.
  void show_progress();

  // A completion of the storage; ignored if it is for another owner.
  void complete(const io::Completion& completion);
  bool quiet() const { return log_ == nullptr || !log_->in_flight(); }

  const std::string& problem() const { return problem_; }
  const std::string& path() const { return path_; }

 private:
  Status create();
  void fail(Status status);

  io::Storage& storage_;
  std::uint32_t& next_owner_;
  std::string directory_;
  journal::Identity target_;
  std::unique_ptr<journal::Log> log_;
  Fd file_;  // has the lock
  std::string path_;
  std::uint64_t base_ = 0;      // records of earlier files
  std::uint64_t appended_ = 0;  // records up to the last one that was not the writer's own
  bool failing_ = false;
  bool given_up_ = false;
  bool promised_ = false;
  std::string problem_;
};

}  // namespace millrace::agent
