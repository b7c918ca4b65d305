// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "agent/pipeline/shared.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"
#include "io/posix/owned.hpp"
#include "io/storage.hpp"
#include "journal/log.hpp"

namespace millrace::agent {

// Logs the records of this node's ranks for one target, in the order of writing, in a file of the journal
// directory, until the records are in the target. Durability node and strategy journal promise this. The
// process holds a lock on the file. After the process has died, recovery writes the records to the target.
// A sync of the target makes the ledger forget all earlier records: whoever heard its answer may write newer
// bytes past the agent.
//
// The first record creates the file. The storage's threads create it, sync its name and remove it, because
// these calls wait for the disk. Deterministic; not thread safe.
class Ledger {
 public:
  enum class State : std::uint8_t {
    works,    // records are appended. Without a file, none has come since the last clear()
    failing,  // the disk refused a write: Core takes no records of ranks until all records are in the target,
              // because a log with a gap would bring old bytes back
    given_up,  // records are no longer logged, and problem() has the reason
  };
  // `file`: the target, open.
  Ledger(Shared& shared, journal::Identity target, const Fd& file);
  // Nothing may be in flight. The file stays if an answer relies on it.
  ~Ledger();

  // True if append() may be called.
  bool ready() const {
    return state_ != State::failing && (state_ == State::given_up || log_ == nullptr || log_->ready());
  }
  void append(std::uint64_t offset, std::span<const std::byte> data, std::uint64_t stamp);

  // Places in the order of writing, over the ledger's whole life: behind the last record that the node's file
  // system has (it outlives this process), and behind the last record that the disk has.
  std::uint64_t written() const { return base_ + (log_ ? log_->written() : 0); }
  std::uint64_t stable() const { return base_ + (log_ && named_ ? log_->stable() : 0); }
  // Starts writing the appended records to the file.
  void flush();
  // Brings them to the disk too. From now on, the answer to a close relies on the file.
  void sync();

  // The end of the records so far.
  struct Cut {
    std::uint64_t mark;  // as of written()
    journal::LogPlace place;
  };
  Cut cut() const { return {base_ + appended_, log_ ? log_->place() : journal::LogPlace{}}; }
  // All records before the cut are in the target: recovery shall not use them any more.
  void forget(const Cut& cut);
  // True if it will not, and if ranks may forget them too.
  bool has_forgotten(const Cut& cut) const;

  State state() const { return state_; }
  bool empty() const { return log_ == nullptr; }
  // All records are in the target: removes the file. False: requests are in flight, so the file stays for
  // now.
  bool clear();
  // The file cannot be created, or both the ledger and the target fail, or nobody needs it any more.
  void give_up();
  // True if an answer relies on records in the file, which still have to reach the target.
  bool counts() const { return log_ != nullptr && made_ == nullptr && promised_; }

  // `draining`: no rank of this node has the target open any more. `helps`: the agent can still bring the
  // records to the target.
  void say(bool draining, bool helps);
  // Shows that the owner lives, and its progress to programs that wait for the end of the draining.
  void show_life(bool progress);
  // Recovery refuses a target that others have changed (recovery/state.hpp). So the log says who may write to
  // the target now: `nobody` as soon as the storage has told the state that the last write has left.
  void note_writers(journal::Writers may_write);
  // True if the log says so. Before that, the agent must not write to the target.
  bool lets_write() const;
  journal::Writers writers() const { return said_.writers; }

  // Of the last file. Code::timeout: the storage removes it now. Another error: the disk does not take it
  // back. Then no further byte of the target is safe: recovery would write older ones over it as soon as this
  // process has ended.
  Status removal() const {
    return shared_.retirements.busy_for(own_number_) ? Code::timeout
                                                     : shared_.retirements.refused(own_number_);
  }

  // A completion of the storage; ignored if it is for another owner.
  void complete(const io::Completion& completion);
  bool quiet() const { return !busy() && (look_ == Look::none || look_ == Look::refused); }
  // True if the storage has requests of the ledger's file.
  bool busy() const {
    return calls_.pending != 0 || removal().code() == Code::timeout || (log_ != nullptr && log_->in_flight());
  }
  // Of the file's requests; starts again with each file.
  std::uint64_t completions() const {
    return calls_.ended + shared_.retirements.completions() + (log_ ? log_->completions() : 0);
  }

  // The reason why records are not logged; empty: they are.
  const std::string& problem() const { return problem_; }
  const std::string& path() const { return file_.path; }

 private:
  // The ledger's own requests; the log has others.
  enum class Act : std::uint32_t { look, create, secure_name };
  void ask(io::Op op, Act act, std::function<Status()> what = {});
  void complete(Act act, const io::Completion& completion);
  void create();
  void secure_name();
  void remove();
  void fail(Status status);
  void keep_sign();

  Shared& shared_;
  journal::Identity target_;
  std::unique_ptr<journal::Log> log_;
  std::shared_ptr<io::Owned> made_;  // what the storage creates
  io::Owned file_ = {};              // has the lock; not valid: not yet created
  struct OwnCalls {
    std::uint32_t pending = 0;  // with the storage
    std::uint64_t ended = 0;
  } calls_;
  bool named_ = false;                          // the file's name is on the disk
  Result<io::Handle> watched_ = Code::invalid;  // the target
  std::uint32_t own_number_;                    // owner number of the ledger's own requests
  // At the target. First: for its time alone. Refused: the storage does not tell its state.
  enum class Look : std::uint8_t { none, first, asked, outdated, refused } look_ = Look::none;
  struct Said {
    journal::Writers writers = journal::Writers::owner;
    FileState left;
  } said_;                          // of the target, in the file
  std::uint64_t last_sign_ns_ = 0;  // the latest time of a sign of life
  std::uint64_t base_ = 0;          // records of earlier files
  std::uint64_t appended_ = 0;      // records of this file up to the last data record
  State state_ = State::works;
  bool promised_ = false;  // the answer to a close relies, or will rely, on the records in the file
  std::string problem_;
};

}  // namespace millrace::agent
