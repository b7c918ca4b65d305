// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
//
// The choice of a transfer's way. A way is a function that carries out a call, and returns what the program's
// call returns.
//
// On a file that Millrace accelerates, a collective write never becomes the MPI library's collective write.
// The choice between pipeline and library depends on sizes and errors of this rank alone. If some ranks chose
// the collective write and others the pipeline, the ranks would wait for ever. A write that does not take the
// pipeline uses the library's independent function, which needs no other rank. Only atomic mode, set by all
// ranks, leaves collective writes to the library.
#include "front/mpiio/call/way.hpp"

#include <new>
#include <utility>

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

Way way_to_read(Call& call) {
  const Open& open = call.open;
  const Reader* const reader = open.reads.reader.get();
  const bool shared = call.row.position == Position::shared;
  if (reader != nullptr && reader->copy != MPI_FILE_NULL && !shared)
    return reader->left ? by_library_alone : from_copy;
  if (open.left_to_library()) return by_library;
  // In a collective function, a rank beside the file server would read for ranks of other nodes.
  if (open.first.location == Open::Location::here) return by_library_alone;
  if (open.first.location == Open::Location::elsewhere) return from_server;
  if (!reads_alone(call)) return by_library;
  if (!has_pieces(call)) return by_library_alone;
  if (goes_through(call)) return from_agents;
  // The library reads one piece as fast, and in the background if the call is non-blocking.
  return call.one_piece || open.reads.until_written ? by_library_alone : read_by_own_pieces;
}

// Ends a split collective.
int end_split(Call& call) {
  Open& open = call.open;
  Split split;
  {
    const std::lock_guard guard(open.begun.split_lock);
    split = std::exchange(open.begun.split, {});
  }
  int result = MPI_SUCCESS;
  if (split.staged) {
    Arguments end = call.a;
    end.status = MPI_STATUS_IGNORE;
    result = end_library(call.row, end, call.a.file);
  } else if (split.state != Split::State::ours) {
    // It may have begun before the rank left its copy.
    const Reader* const reader = open.reads.reader.get();
    const bool copied = reader != nullptr && reader->copy != MPI_FILE_NULL && !call.writes() &&
                        call.row.position != Position::shared;
    return copied ? from_copy(call) : call.own(open.handle);
  }
  if (split.pending != nullptr) {
    const PendingResult ended = end_pending(*split.pending);
    split.bytes = ended.bytes;
    result = ended.error;
  }
  set_status(call.a.status, split.bytes);
  return result;
}

bool split_active(Open& open) {
  const std::lock_guard guard(open.begun.split_lock);
  return open.begun.split.state == Split::State::ours;
}

}  // namespace

bool writes_alone(const Open& open, const Row& row) {
  return row.direction == Direction::write && open.writable && !open.left_to_library() &&
         row.position != Position::shared &&
         (open.writes_alone() || open.first.location == Open::Location::elsewhere);
}

int carry_out(Open* open, const Row& row, const Arguments& arguments, LibraryFunction own) noexcept {
  if (open == nullptr) return own(arguments.file);
  if (open->first.location != Open::Location::everywhere && row.position == Position::shared)
    return not_on_first(*open, "using the shared file pointer");
  try {
    Call call{*open, row, arguments, own};
    if (row.completion == Completion::split_end) return end_split(call);
    // One split collective at a time; ROMIO returns the same error.
    if (row.completion == Completion::split_begin && split_active(*open))
      return raise_class(*open, MPI_ERR_IO);
    if (call.writes()) {
      note_write(*open, row.coordination == Coordination::collective && !open->left_to_library());
      return way_to_write(call)(call);
    }
    const Status met = meet_before_reading(call);
    const Way way = way_to_read(call);
    // The other ranks may be in the library's collective function.
    const int result = met.ok() || way == by_library ? way(call) : MPI_SUCCESS;
    return met.ok() ? result : raise(*open, met);
  } catch (const std::bad_alloc&) {
    return raise(*open, Code::no_memory);
  } catch (...) {
    return raise(*open, Code::io);
  }
}

}  // namespace millrace::front
