// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "front/mpiio/handles/handlers.hpp"
#include "front/mpiio/handles/open.hpp"

namespace millrace::front {

// A look-up that a thread remembers. `open` is nullptr for a file that Millrace does not accelerate.
struct Remembered {
  std::uint64_t generation = 0;
  MPI_File handle{};
  Open* open = nullptr;
};
struct ThreadState {
  unsigned depth = 0;   // hooks that this thread is in
  MPI_File handling{};  // whose error handler this thread runs, or has left by a jump
  std::array<Remembered, 8> files;
};
extern constinit thread_local ThreadState thread_state;

// Changes whenever a file is added or removed, so that threads forget their look-ups.
extern std::atomic<std::uint64_t> files_generation;

// The table of this process's open files. Thread safe.
Open* find_slowly(Remembered& place, MPI_File handle);
void add(std::unique_ptr<Open> open);
std::unique_ptr<Open> remove(MPI_File handle);
// Adds a handle that is left to the MPI library. Its calls find the bytes that other handles and ranks have
// written to the file.
void add_guest(MPI_File handle, const std::string& path);
// The facts about this process's handles of one file.
struct HandlesOfFile {
  bool bypassed = false;  // a handle is left to the MPI library because of other nodes
  bool routed = false;    // a handle is of several nodes that work together
  bool plain = false;  // a handle has ranks of this node only, and this process has written through the agent
  bool written = false;   // this rank has written by a handle
  bool writable = false;  // a handle is open for writing
};
// The file of this name, which has this number (client::File::number()).
HandlesOfFile handles_of(const std::string& path, std::uint64_t number);
// Turns the pipeline off for the handles of the file with this number, because another handle of it is left
// to the MPI library.
void bypass_same_file(std::uint64_t number, client::Reason reason);
// Agents carry reads of a file until it is written. A direct write goes through the writer's own node, and
// another node's cache may lack it. So a rank reads by itself after its first write, and all ranks leave
// reads to the library once all of them know of a write.
//
// A copy on this node lacks what this process writes. So a handle that reads a copy then reads the file
// itself, by the library's independent functions: other ranks may still read their copies.
//
// Called before this rank writes, or changes the size of the file. `on_all`: all ranks make this call.
void note_write(Open& open, bool on_all);
// From now on, a handle that reads a copy reads the file itself.
void leave_copy(Open& open);
// For a file of another node (target=first), of which each handle has a stand-in of its own: brings what this
// process has written by other handles to that node. If there is such a handle, the agents read no more
// ahead for this one.
Status publish_others(Open& open);
// Called at MPI_File_sync, and before a collective read of a file that may be written. Collective over the
// file, if the agents carry its reads.
void agree_on_writes(Open& open);
// The open files, for a thread that alone makes MPI calls.
std::vector<Open*> all_files();
// Brings pending bytes of files that several nodes have open to their file servers, and sees the death of the
// agent of files with strategy journal. An error stays with its file.
void order_files();

// Marks this thread as inside a hook. MPI calls that the library or a tool makes there go straight to the
// real functions.
class Scope {
 public:
  Scope() : state_(thread_state), outermost_(state_.depth++ == 0) {
    if (state_.handling != MPI_File{}) [[unlikely]]
      take_handler_again();
  }
  ~Scope() { --state_.depth; }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  bool outermost() const { return outermost_; }

  // The accelerated file behind a handle of the program; nullptr if there is none, or inside another hook.
  Open* find(MPI_File handle) const {
    if (!outermost_) return nullptr;
    Remembered& place = state_.files[(reinterpret_cast<std::uintptr_t>(handle) >> 6) % state_.files.size()];
    const bool hit =
        place.handle == handle && place.generation == files_generation.load(std::memory_order_acquire);
    return hit ? place.open : find_slowly(place, handle);
  }

 private:
  ThreadState& state_;
  bool outermost_;
};

}  // namespace millrace::front
