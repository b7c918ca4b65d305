// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <atomic>

#include "plain/engine.hpp"

// Marks exported functions. Everything else in the library is hidden.
#define MILLRACE_HOOK extern "C" __attribute__((visibility("default")))

namespace millrace::front {

// The process's engine, over the real functions.
plain::Engine& engine();

// A function of the MPI-IO hooks of this process, set at the first MPI_File_open (guests.cpp). `ask_mpi` is
// nullptr if the process uses no MPI-IO. For a file, the function writes the pending bytes to the file and
// returns false. For nullptr, it returns true if any bytes are pending.
using AskMpi = bool (*)(const struct stat* about, bool writes);
extern constinit std::atomic<AskMpi> ask_mpi;  // NOLINT(bugprone-dynamic-static-initializers): only declared

// Call it before a file is read, written past MPI-IO, or asked for its size. Brings bytes to the file that
// ranks of this node have written by MPI-IO. Costs one load if the process uses no MPI-IO.
void ask_mpi_about(int fd, bool writes, AskMpi ask);
void ask_mpi_about(int folder, const char* path, int flags, AskMpi ask);
inline void ask_for(int fd, bool writes = false) {
  if (AskMpi ask = ask_mpi.load(std::memory_order_acquire)) [[unlikely]]
    ask_mpi_about(fd, writes, ask);
}
inline void ask_for(int folder, const char* path, int flags) {
  if (AskMpi ask = ask_mpi.load(std::memory_order_acquire)) [[unlikely]]
    ask_mpi_about(folder, path, flags, ask);
}

// Writes the waiting bytes of a file. Call it before a call that could miss them. Before a call that makes a
// second descriptor, call release(), which also ends write-behind for the file.
inline void settle(int fd) {
  engine().behind().settle(fd);
  ask_for(fd);
}
inline void settle_all() { engine().behind().settle_all(); }
inline void release(int fd) {
  engine().behind().release(fd);
  ask_for(fd);
}
// The same for a file by its name. Settles all files, because the name may mean any of them.
inline void settle_named(int folder, const char* path, int flags) {
  settle_all();
  ask_for(folder, path, flags);
}
inline void drop(int fd) { engine().behind().drop(fd); }
inline void release_all() { engine().behind().release_all(); }

// True for the outermost hook of this thread. Calls of a signal handler that interrupts a hook, and calls of
// the engine itself, go to the real functions.
class Entrance {
 public:
  Entrance() : entered_(!busy) { busy = true; }
  ~Entrance() {
    if (entered_) busy = false;
  }
  Entrance(const Entrance&) = delete;
  Entrance& operator=(const Entrance&) = delete;
  explicit operator bool() const { return entered_; }

 private:
  static constinit thread_local bool busy;  // NOLINT(bugprone-dynamic-static-initializers)
  bool entered_;
};

}  // namespace millrace::front
