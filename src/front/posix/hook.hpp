// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <atomic>

#include "plain/engine.hpp"

// What is exported; everything else of the library is hidden.
#define MILLRACE_HOOK extern "C" __attribute__((visibility("default")))

namespace millrace::front {

// The process's engine, over the real functions.
plain::Engine& engine();

// What the MPI-IO hooks of this process answer, once it has opened a file (guests.cpp): about a file, false;
// what was pending of it is in it now. Of nullptr: whether anything is pending. nullptr: no MPI-IO in this
// process.
using AskMpi = bool (*)(const struct stat* about, bool writes);
extern constinit std::atomic<AskMpi> ask_mpi;  // NOLINT(bugprone-dynamic-static-initializers): only declared

// Before a file is read, written past MPI-IO or measured: what this process, or other ranks of its node, have
// written to it by MPI-IO reaches it. A load where there is no MPI-IO.
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

// Before something that could find bytes of write-behind missing, or would go on with a second descriptor of
// the file.
inline void settle(int fd) {
  engine().behind().settle(fd);
  ask_for(fd);
}
inline void settle_all() { engine().behind().settle_all(); }
inline void release(int fd) {
  engine().behind().release(fd);
  ask_for(fd);
}
// ... of the file that a name means.
inline void settle_named(int folder, const char* path, int flags) {
  settle_all();
  ask_for(folder, path, flags);
}
inline void drop(int fd) { engine().behind().drop(fd); }
inline void release_all() { engine().behind().release_all(); }

// True for the outermost hook of this thread. A signal handler that interrupts one, and what the engine
// itself calls, go to the real functions.
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
