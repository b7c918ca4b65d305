// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>

#include "plain/copies.hpp"
#include "plain/engine.hpp"

// Marks exported functions. Everything else in the library is hidden.
#define MILLRACE_HOOK extern "C" __attribute__((visibility("default")))

namespace millrace::front {

// The process's engine, over the real functions.
plain::Engine& engine();
// The copies of files that opens for reading get (copies.cpp). There are none unless the program uses MPI.
plain::Copies& copies();

// A function of the MPI-IO hooks of this process, set at the first MPI_File_open (guests.cpp). `ask_mpi` is
// nullptr if the process uses no MPI-IO. For a file, the function writes the pending bytes to the file and
// returns false. For nullptr, it returns true if any bytes are pending.
using AskMpi = bool (*)(const struct stat* about, bool writes);
extern constinit std::atomic<AskMpi> ask_mpi;  // NOLINT(bugprone-dynamic-static-initializers): only declared

// Call it before a file is read, written past MPI-IO, or asked for its size. Brings bytes to the file that
// ranks of this node have written by MPI-IO. Costs one load if the process uses no MPI-IO.
void ask_mpi_about(int fd, bool writes, AskMpi ask);
void ask_mpi_about(int folder, const char* path, int flags, bool writes, AskMpi ask);
inline void ask_for(int fd, bool writes = false) {
  if (AskMpi ask = ask_mpi.load(std::memory_order_acquire)) [[unlikely]]
    ask_mpi_about(fd, writes, ask);
}
inline void ask_for(int folder, const char* path, int flags, bool writes) {
  if (AskMpi ask = ask_mpi.load(std::memory_order_acquire)) [[unlikely]]
    ask_mpi_about(folder, path, flags, writes, ask);
}

// Writes the waiting bytes of a file. Call it before a call that could miss them. Before a call that makes a
// second descriptor, call release(), which also ends write-behind for the file. `writes`: the call changes
// the file.
inline void settle(int fd, bool writes = false) {
  engine().behind().settle(fd);
  ask_for(fd, writes);
}
inline void settle_all() { engine().behind().settle_all(); }
inline void release(int fd) {
  engine().behind().release(fd);
  ask_for(fd);
}
// The same for a file by its name. Settles all files, because the name may mean any of them.
inline void settle_named(int folder, const char* path, int flags, bool writes = false) {
  settle_all();
  ask_for(folder, path, flags, writes);
}
// Call it after fd was opened with these flags of open(2). A file that is opened for reading may have a copy.
void take_copy(int fd);
inline void look_for_copy(int fd, int flags) {
  if (!copies().any()) return;
  if ((flags & O_ACCMODE) == O_RDONLY) {
    take_copy(fd);
  } else {
    copies().leave(fd);
  }
}
// Call it with the result of fstat.
void show_original(struct stat* about);
inline int shown(int result, struct stat* about) {
  if (result == 0 && copies().any()) [[unlikely]]
    show_original(about);
  return result;
}
// Call it before a lock on the file of fd.
inline void before_lock(int fd) {
  if (copies().any()) [[unlikely]]
    copies().leave(fd);
}
// Call it before fd is closed, or gets another meaning.
inline void drop(int fd) {
  engine().behind().drop(fd);
  engine().closing(fd);
}
inline void release_all() { engine().behind().release_all(); }

// True for the outermost hook of this thread. Calls of a signal handler that interrupts a hook, and calls of
// the engine itself, go to the real functions.
class OutermostHook {
 public:
  OutermostHook() : entered_(!busy) { busy = true; }
  ~OutermostHook() {
    if (entered_) busy = false;
  }
  OutermostHook(const OutermostHook&) = delete;
  OutermostHook& operator=(const OutermostHook&) = delete;
  explicit operator bool() const { return entered_; }

 private:
  static constinit thread_local bool busy;  // NOLINT(bugprone-dynamic-static-initializers)
  bool entered_;
};

}  // namespace millrace::front
