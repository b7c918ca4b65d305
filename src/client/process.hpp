// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/file_identity.hpp"
#include "base/settings.hpp"
#include "client/file.hpp"
#include "client/series.hpp"
#include "client/session.hpp"
#include "client/stint.hpp"

namespace millrace::client {

// An open file that finalize() has to close.
class Leaver {
 public:
  virtual ~Leaver() = default;
  virtual void leave(bool at_exit) = 0;
};

// Lessons from the earlier files of a process.
struct Lessons {
  std::atomic<bool> syncs{false};  // the program has called MPI_File_sync, so it is likely to do so again
  MixedSeries mixed;
  Observations observed;
};

// The process of an open file, as the file sees it: a seam. It has the objects that a process has once, and
// the file's calls of the system beside its session. A write of a file that takes the pipeline already needs
// only settings() of the virtual functions. Implementations: process.cpp (this process), sim/rank_process.hpp
// (a rank in virtual time), sim/settling.hpp (one before it opens a file). Outlives its files. Thread safe.
class Process {
 public:
  Process() = default;
  virtual ~Process() = default;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  virtual const Settings& settings() const = 0;

  // The session, made at the first call that needs it; nullptr if there is none. `why` then has the reason
  // for the report. With `may_start` false, the process only joins an agent that runs already. It looks for
  // one at most once per millisecond, even after failures.
  virtual Session* session(bool may_start, const char*& why) = 0;

  // True if this process had an agent, and the agent has gone.
  virtual bool agent_has_gone() = 0;
  // After that, another rank may have started a second agent, because it had not met the first one. Returns a
  // session with the second agent, only for questions; nullptr: none is known. Looks for it at most once per
  // millisecond.
  virtual Session* successor() = 0;

  virtual void add(Leaver* leaver) = 0;
  virtual void remove(Leaver* leaver) = 0;

  // True in a child of fork(): the ring and the files belong to the parent.
  bool is_child() const { return child_.load(std::memory_order_relaxed); }

  Lessons& lessons() { return lessons_; }

  // Monotonic.
  virtual std::uint64_t now_ns() const = 0;
  virtual std::uint32_t processors() const = 0;  // of this node
  // The size of a file.
  virtual Result<std::uint64_t> size_of(const std::string& path) = 0;
  // Syncs the bytes that the MPI library wrote to the file for this rank.
  virtual Status datasync(const Fd& file) = 0;
  // The identity of an open file, or of the file of a name. Opens nothing, because to close a file drops all
  // of the process's record locks on it.
  virtual Result<FileIdentity> identify(const Fd& file) = 0;
  virtual Result<FileIdentity> identify(const std::string& path) = 0;
  // refresh().
  virtual void look_again(const std::string& path) = 0;
  virtual void pause(std::uint32_t for_ms) = 0;
  // The first `size` bytes of a journal; false if there are fewer.
  virtual bool read_start(const Fd& journal, void* into, std::size_t size) = 0;
  // Starts another process that recovers the journals of dead agents in a folder, and waits for a while.
  // False: that process was killed or could not start.
  virtual bool recover(const std::string& directory) = 0;
  // Tells the user of the program, once, on stderr.
  virtual void say(const std::string& line) = 0;

 protected:
  void set_child() { child_.store(true); }

 private:
  std::atomic<bool> child_{false};
  Lessons lessons_;
};

// The process that runs this code.
Process& own_process();

// open(), visit() and settle_ledgers() in any process.
std::unique_ptr<File> visit(const std::string& path, Process& process);
std::unique_ptr<File> open(OpenRequest request, Process& process);
void settle_ledgers(const char* path, bool writes, Process& process);

}  // namespace millrace::client
