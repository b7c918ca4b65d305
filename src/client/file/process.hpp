// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/file_identity.hpp"
#include "base/settings.hpp"
#include "client/costs/history.hpp"
#include "client/costs/reasons.hpp"
#include "client/file/other_agents.hpp"
#include "client/file/target_file.hpp"
#include "client/session/session.hpp"
#include "client/way/read_ahead.hpp"
#include "extent/extent.hpp"

namespace millrace::client {

// An open file that finalize() has to close.
class Leaver {
 public:
  virtual ~Leaver() = default;
  virtual void leave(bool at_exit) = 0;
};

// The files of a process whose bytes are read ahead, by their numbers. A process reads what it has written by
// every handle: a write to a file drops the bytes that other handles have read ahead. Thread safe.
class ReadAheads {
 public:
  void add(std::uint64_t file_number, ReadAhead& ahead) {
    const std::lock_guard guard(mutex_);
    all_.emplace_back(file_number, &ahead);
    count_.store(all_.size(), std::memory_order_release);
  }
  void remove(const ReadAhead& ahead) {
    const std::lock_guard guard(mutex_);
    std::erase_if(all_, [&ahead](const auto& one) { return one.second == &ahead; });
    count_.store(all_.size(), std::memory_order_release);
  }
  bool any() const { return count_.load(std::memory_order_acquire) != 0; }
  // Costs a load if no file is read ahead.
  void drop(std::uint64_t file_number) {
    if (count_.load(std::memory_order_acquire) == 0) return;
    const std::lock_guard guard(mutex_);
    for (const auto& [number, ahead] : all_) {
      if (number == file_number) ahead->drop();
    }
  }

 private:
  std::mutex mutex_;
  std::vector<std::pair<std::uint64_t, ReadAhead*>> all_;
  std::atomic<std::size_t> count_{0};
};

// The seam between an open file and its process. It has the objects that exist once per process, and makes
// the file's system calls outside the session. A write of a file that already takes the pipeline calls only
// two virtual functions: settings(), and processors() if the ranks have met before it (Transfer::met).
// Implementations: own_process.cpp (this process), sim/rank_process.hpp (a rank in virtual time),
// sim/settling.hpp (a process before it opens a file). The process outlives its files. Thread safe.
class Process {
 public:
  Process() = default;
  virtual ~Process() = default;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  virtual const Settings& settings() const = 0;

  // Returns the session; the first call that needs a session makes it. nullptr: there is none, and `why` may
  // have the reason for the report. With `may_start` false, the process only joins an agent that already
  // runs. It looks for an agent at most once per millisecond, even after failures. Reason::agent_silent: an
  // agent runs and has not answered within the setting `timeout`.
  virtual Session* session(bool may_start, Reason& why) = 0;

  // As session(false, why), for callers that need no reason.
  Session* joined() {
    Reason why = Reason::none;
    return session(false, why);
  }

  // Begins to start the job's agent if there is none, and does not wait. True: session(true) need not wait
  // for the start of an agent.
  virtual bool agent_is_up() { return true; }

  // True if this process had an agent, and the agent has gone.
  virtual bool agent_has_gone() = 0;
  // Returns a session with a second agent, only for questions; nullptr: no such agent is known. After the
  // agent has gone, a rank that never met it may start a second agent. The process looks for a second agent
  // at most once per millisecond. `why`: as for session().
  virtual Session* successor(Reason& why) = 0;
  bool has_successor() {
    Reason why = Reason::none;
    return successor(why) != nullptr;
  }

  // The agents of this user that live on this node, without that of this process's session.
  virtual Result<OtherAgents::List> other_agents() { return OtherAgents::List(); }

  virtual void add(Leaver* leaver) = 0;
  virtual void remove(Leaver* leaver) = 0;

  // `extent`, or all bytes from its begin if it reaches behind the end of the file. The end of the file
  // depends on pending bytes behind it: a hole before these bytes reads as zeros.
  Extent with_the_end(Extent extent, const TargetFile& target) {
    if (extent.end == UINT64_MAX) return extent;
    const Result<std::uint64_t> size = size_of(target.lasting_path());
    return {extent.begin, size.ok() && extent.end <= *size ? extent.end : UINT64_MAX};
  }

  // True in a child of fork(): the ring and the files belong to the parent.
  bool is_child() const { return child_.load(std::memory_order_relaxed); }

  History& history() { return history_; }
  ReadAheads& read_aheads() { return read_aheads_; }

  // Monotonic.
  virtual std::uint64_t now_ns() const = 0;
  virtual std::uint32_t processors() const = 0;  // of this node
  // The size of a file.
  virtual Result<std::uint64_t> size_of(const std::string& path) = 0;
  // Syncs the bytes that the MPI library wrote to the file for this rank.
  virtual Status datasync(const Fd& file) = 0;
  // The identity of an open file, or of the file with a name. The functions open no file, because a close
  // drops all of the process's record locks on the file.
  virtual Result<FileIdentity> identify(const Fd& file) = 0;
  virtual Result<FileIdentity> identify(const std::string& path) = 0;
  // The same as identify(file), for the ledger of the file: the file gets a mark if it has nothing else.
  virtual Result<FileIdentity> mark(const Fd& file) { return identify(file); }
  // Calls refresh().
  virtual void look_again(const std::string& path) = 0;
  virtual void pause(std::uint32_t for_ms) = 0;
  // journal::ReadStart.
  virtual Result<std::size_t> read_start(const Fd& journal, std::span<std::byte> into) = 0;
  // Starts a process that recovers the journals of dead agents in a folder to the file of that path, and
  // waits for its end with a bound. False: a signal ended that process, or it could not start.
  virtual bool recover(const std::string& directory, const std::string& path) = 0;
  // Prints a line for the user on stderr, once.
  virtual void say(const std::string& line) = 0;

 protected:
  void set_child() { child_.store(true); }

 private:
  std::atomic<bool> child_{false};
  History history_;
  ReadAheads read_aheads_;
};

}  // namespace millrace::client
