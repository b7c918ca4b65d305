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

// A file that finalize() has to close.
class Leaver {
 public:
  virtual ~Leaver() = default;
  virtual void leave(bool at_exit) = 0;
};

// What the files of a process have taught it.
struct Lessons {
  std::atomic<bool> syncs{false};  // the program has called MPI_File_sync, so it is likely to do so again
  MixedSeries mixed;
  Observations observed;
};

// The process that a file is open in, as the file sees it, a seam: what there is once, and what it asks of
// the system beside its session. Of what is virtual, a write of a file that takes the pipeline already needs
// settings() alone. Implementations: process.cpp (this process), sim/rank_process.hpp (a rank in virtual
// time), sim/settling.hpp (one before it opens a file). Outlives its files. Thread safe.
class Process {
 public:
  Process() = default;
  virtual ~Process() = default;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  virtual const Settings& settings() const = 0;

  // The session, made at the first call that needs it; nullptr if there is none. `why` then says why, in
  // words for the report. With `may_start` false only an agent that runs already is joined, and it is
  // looked for at most once per millisecond, however often that has failed.
  virtual Session* session(bool may_start, const char*& why) = 0;

  // There was an agent, and it has gone.
  virtual bool agent_has_gone() = 0;
  // ... and another rank, which had not met it, has started another one since: a session with that one, only
  // to ask. nullptr: none is known. Looked for at most once per millisecond.
  virtual Session* successor() = 0;

  virtual void add(Leaver* leaver) = 0;
  virtual void remove(Leaver* leaver) = 0;

  // True in a child of fork(): the ring and the files belong to the parent.
  bool is_child() const { return child_.load(std::memory_order_relaxed); }

  Lessons& lessons() { return lessons_; }

  // Monotonic.
  virtual std::uint64_t now_ns() const = 0;
  virtual std::uint32_t processors() const = 0;  // of this node
  // How long a file is.
  virtual Result<std::uint64_t> size_of(const std::string& path) = 0;
  // What the MPI library wrote to it for this rank is on its disk.
  virtual Status datasync(const Fd& file) = 0;
  // Which file an open one is, and which one a name means. Opens nothing: to close a file is to lose all of
  // the process's record locks on it.
  virtual Result<FileIdentity> identify(const Fd& file) = 0;
  virtual Result<FileIdentity> identify(const std::string& path) = 0;
  // refresh().
  virtual void look_again(const std::string& path) = 0;
  virtual void pause(std::uint32_t for_ms) = 0;
  // The first `size` bytes of a journal; false if there are fewer.
  virtual bool read_start(const Fd& journal, void* into, std::size_t size) = 0;
  // Has another process bring to their targets what dead agents have left in a folder of journals, and waits
  // for a while. False: that process has been killed, or there was none.
  virtual bool recover(const std::string& directory) = 0;
  // To whom runs the program, once.
  virtual void say(const std::string& line) = 0;

 protected:
  void set_child() { child_.store(true); }

 private:
  std::atomic<bool> child_{false};
  Lessons lessons_;
};

// The one that this code runs in.
Process& own_process();

// open(), visit() and settle_ledgers() in any process.
std::unique_ptr<File> visit(const std::string& path, Process& process);
std::unique_ptr<File> open(OpenRequest request, Process& process);
void settle_ledgers(const char* path, bool writes, Process& process);

}  // namespace millrace::client
