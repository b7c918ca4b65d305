// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "client/file.hpp"
#include "front/mpiio/real.hpp"
#include "front/mpiio/view_of.hpp"

namespace millrace::front {

// A split collective between its begin and its end.
struct Split {
  enum class State { none, ours, real };
  State state = State::none;
  MPI_Count bytes = 0;  // ours: what the status of the end reports
};

// One MPI_File that Millrace accelerates, beside the MPI library's own object for it. Made by MPI_File_open,
// destroyed by MPI_File_close. Thread safe where MPI asks for it: transfers may run in several threads;
// what changes `view` or `direct` is collective and must not run beside a transfer.
struct Open {
  MPI_File handle = MPI_FILE_NULL;
  std::string path;
  std::unique_ptr<client::File> file;
  View view;
  bool atomic = false;
  bool foreign = false;            // a data representation other than native
  bool collective_direct = false;  // collective calls stay with the MPI library, on all ranks alike

  bool pipeline() const { return !atomic && !foreign && view.mappable(); }

  // The individual file pointer, in etypes of the view. `ours`: the MPI library's own is out of date.
  std::mutex pointer_lock;
  MPI_Offset position = 0;
  enum class Holder { ours, real, both } holder = Holder::real;

  std::mutex split_lock;
  Split split;
};

// The accelerated files of this process. find() costs a few nanoseconds when a thread uses few files.
Open* find(MPI_File handle);
void add(std::unique_ptr<Open> open);
std::unique_ptr<Open> remove(MPI_File handle);

// Marks this thread as being inside a hook: what the MPI library or a tool calls from there goes straight on.
class Scope {
 public:
  Scope();
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  bool outermost() const { return outermost_; }

 private:
  bool outermost_;
};

// Maps `status` to an MPI error class and raises it through the file's error handler, as the MPI library
// would. Returns what the call shall return.
int raise(const Open& open, Status status);
// ... the same for a class that has no Status.
int raise_class(const Open& open, int error_class);

// The individual pointer is the MPI library's business for the next call.
void hand_over(Open& open, Entry entry);
// The current individual pointer, in etypes. Call with pointer_lock held.
int current_position(Open& open, Entry entry, MPI_Offset& position);

}  // namespace millrace::front
