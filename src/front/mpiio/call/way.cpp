// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
//
// The choice of a transfer's way. A way is a function that carries out a call, and returns what the program's
// call returns. Only a read can need a second way: that is chosen here too.
//
// On a file that Millrace accelerates, a collective write never becomes the MPI library's collective write.
// The choice between pipeline and library depends on sizes and errors of this rank alone. If some ranks chose
// the collective write and others the pipeline, the ranks would wait for ever. A write that does not take the
// pipeline uses the library's independent function, which needs no other rank. Only atomic mode, set by all
// ranks, leaves collective writes to the library.
#include "front/mpiio/call/way.hpp"

#include <new>

#include "front/mpiio/call/completion.hpp"
#include "front/mpiio/call/library.hpp"
#include "front/mpiio/call/pending.hpp"
#include "front/mpiio/call/read.hpp"
#include "front/mpiio/call/unmapped.hpp"
#include "front/mpiio/call/write.hpp"
#include "front/mpiio/handles/table.hpp"
#include "front/mpiio/open/open_first.hpp"

namespace millrace::front {
namespace {

using Way = int (*)(Call&);

Way way_to_write(Call& call) {
  const Open& open = call.open;
  const bool elsewhere = open.first.location == Open::Location::elsewhere;
  if (!writes_alone(open, call.row)) return by_library;
  if (call.is_empty()) return write_nothing;
  if (!open.view.mapped && !elsewhere) return write_unmapped;
  if (!call.sound()) return call.memory == nullptr ? write_in_order : write_unmeasured;
  return enters_pipeline(call) ? by_pipeline : past_pipeline;
}

// True if the node's copy has the handle of this call, and not the program's handle.
bool is_of_copy(const Call& call) {
  return call.open.has_copy() && !call.writes() && call.row.position != Position::shared;
}

Way way_to_read(Call& call) {
  const Open& open = call.open;
  if (is_of_copy(call)) return open.reads.reader->left ? by_library_alone : from_copy;
  if (open.left_to_library()) return by_library;
  // In a collective function, a rank beside the file server would read for ranks of other nodes.
  if (open.first.location == Open::Location::here) return by_library_alone;
  const bool elsewhere = open.first.location == Open::Location::elsewhere;
  if (!elsewhere && !reads_alone(call)) return by_library;
  const bool placed = has_pieces(call);
  if (placed && goes_through(call)) return from_agents;
  if (elsewhere) return from_server;
  // The library reads one piece as fast, and in the background if the call is non-blocking.
  const bool own = placed && !call.one_piece && !open.reads.until_written;
  return own && open.file->own_pieces() != nullptr ? read_by_own_pieces : by_library_alone;
}

int read(Call& call) {
  Open& open = call.open;
  const Status met = meet_before_reading(call);
  const Way way = way_to_read(call);
  // The other ranks may be in the library's collective function.
  if (!met.ok() && way != by_library) return raise(open, met);
  int result = way(call);
  if (result == unread) {
    call.give_back();
    result = open.first.location == Open::Location::elsewhere ? from_server(call) : by_library_alone(call);
  }
  if (result == MPI_SUCCESS) {
    open.file->counts().read(call.asked());
    open.reads.bytes.fetch_add(call.asked(), std::memory_order_relaxed);
  }
  return met.ok() ? result : raise(open, met);
}

int write(Call& call) {
  note_write(call.open, call.row.coordination == Coordination::collective && !call.open.left_to_library());
  return way_to_write(call)(call);
}

// Ends a split collective.
int end_split(Call& call) {
  Open& open = call.open;
  Split split = open.begun.change({});
  int result = MPI_SUCCESS;
  if (split.staged) {
    Arguments end = call.a;
    end.status = MPI_STATUS_IGNORE;
    result = call_library(call.row, end, open.handle);
  } else if (!split.ours) {
    // It may have begun before the rank left its copy.
    return is_of_copy(call) ? from_copy(call) : call_library(call.row, call.a, open.handle);
  }
  if (split.pending != nullptr) {
    const PendingResult ended = end_pending(*split.pending);
    split.bytes = ended.bytes;
    result = ended.error;
  }
  set_status(call.a.status, split.bytes);
  return result;
}

}  // namespace

bool writes_alone(const Open& open, const Row& row) {
  return row.direction == Direction::write && open.writable && !open.left_to_library() &&
         row.position != Position::shared &&
         (open.writes_alone() || open.first.location == Open::Location::elsewhere);
}

int carry_out(Open* open, const Row& row, const Arguments& arguments) noexcept {
  if (open == nullptr) return call_library(row, arguments, arguments.file);
  if (open->first.location != Open::Location::everywhere && row.position == Position::shared)
    return not_on_first(*open, "using the shared file pointer");
  try {
    Call call{*open, row, arguments};
    if (row.completion == Completion::split_end) return end_split(call);
    // One split collective at a time; ROMIO returns the same error.
    if (row.completion == Completion::split_begin && open->begun.has_split())
      return raise_class(*open, MPI_ERR_IO);
    return call.writes() ? write(call) : read(call);
  } catch (const std::bad_alloc&) {
    return raise(*open, Code::no_memory);
  } catch (...) {
    return raise(*open, Code::io);
  }
}

}  // namespace millrace::front
