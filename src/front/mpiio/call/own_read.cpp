// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/call/own_read.hpp"

#include <algorithm>

#include "client/costs/policy.hpp"
#include "front/mpiio/call/completion.hpp"
#include "front/mpiio/call/library.hpp"
#include "front/mpiio/call/pending.hpp"
#include "front/mpiio/call/target.hpp"
#include "front/mpiio/handles/table.hpp"
#include "front/mpiio/open/through.hpp"

namespace millrace::front {
namespace {

// Moves the individual pointer back, after a read that reserve() had counted.
void give_back(Open& open, const Target& target) {
  const auto etype = open.view.etype_size();
  const std::lock_guard guard(open.pointer_lock);
  open.position = static_cast<MPI_Offset>(target.position / etype);
}

void note_read(Open& open, std::uint64_t bytes) {
  open.file->note_read(bytes);
  open.bytes_read.fetch_add(bytes, std::memory_order_relaxed);
}

// True if the agents should carry this read.
bool goes_through(Open& open, const Target& target, const Arguments& a) {
  const Through reads = open.through;
  if (reads == Through::none) return false;
  if (reads == Through::all) {
    const bool carried = agents_carry(open);
    if (carried) open.file->explain_read(true, {client::Reason::pieces_asked_for});
    return carried;
  }
  const std::uint64_t pieces =
      open.view.estimate_pieces(target.position, *target.memory, static_cast<std::uint64_t>(a.count));
  const std::uint64_t mean = target.bytes / std::max<std::uint64_t>(pieces, 1);
  const bool small = mean < client::small_read_bytes;
  const bool carried = small && agents_carry(open);
  const client::Reason why = small ? client::Reason::small_reads : client::Reason::large_reads;
  if (carried || !small) open.file->explain_read(carried, {why, mean, mean, client::small_read_bytes});
  return carried;
}

// Makes a collective read find the earlier writes of all ranks. The MPI library's two-phase read has the same
// effect. False, on all ranks alike, if the ranks cannot meet, or if a rank has written a file whose reads
// the agents carry.
bool meet(Open& open, Status& flushed) {
  flushed = open.file->publish();
  if (!open.until_written) return all_ranks(open, true);
  agree_on_writes(open);
  return open.reads_alone;
}

client::PieceSource pieces_of(const Open& open, const Arguments& a, const Target& target) {
  return {open.view, target.position, *target.memory, a.memory, static_cast<std::uint64_t>(a.count)};
}

// From the file.
Status read_own(Open& open, const Arguments& a, const Target& target) {
  client::PieceSource source = pieces_of(open, a, target);
  return open.file->read(source);
}

// Through the agents.
Status read_now(Open& open, const Arguments& a, const Target& target) {
  return open.file->read_through(open.view, target.position, pieces_of(open, a, target), target.hull.end);
}

}  // namespace

bool read_pieces(Open& open, const Row& row, const Arguments& a, int& result) {
  Target target{};
  if (a.count <= 0) return false;
  if (a.memory == nullptr || !measure(open, row, a, target) || target.bytes == 0) {
    (void)open.file->flush(everything);
    return false;
  }
  find_hull(open, target);
  if (const Status flushed = open.file->flush(target.hull); !flushed.ok()) {
    result = raise(open, flushed);
    return true;
  }
  if (row.completion == Completion::nonblocking && a.request == nullptr) return false;
  const bool through = goes_through(open, target, a);
  // The library reads one piece as fast, and in the background if the call is non-blocking.
  if (!through && (target.one_piece || open.until_written)) return false;
  if (const int error = examine(open, Direction::read, a); error != MPI_SUCCESS) {
    result = error;
    return true;
  }
  const bool moves = row.position == Position::individual;
  if (moves) reserve(open, target);
  const bool pends = through && can_pend(open, row);
  const Status got = pends     ? begin_pending(open, row, a, target, result)
                     : through ? read_now(open, a, target)
                               : read_own(open, a, target);
  if (!got.ok()) {
    if (moves) give_back(open, target);
    return false;
  }
  note_read(open, target.bytes);
  if (!pends) result = complete(open, row, a, target.bytes);
  return true;
}

bool reads_alone(const Open& open, const Row& row) {
  return open.reads_alone && row.direction == Direction::read && row.position != Position::shared &&
         row.completion != Completion::split_end && !open.atomic && !open.foreign && !open.bypassed;
}

int read_independent(Open& open, const Row& row, const Arguments& a) {
  MPI_Status got;
  const bool split = row.completion == Completion::split_begin;
  const int error = call_alone(row, a, split ? &got : a.status);
  if (error != MPI_SUCCESS) return error;
  if (a.count > 0 && a.map != nullptr) note_read(open, a.map->size * static_cast<std::uint64_t>(a.count));
  if (!split) return MPI_SUCCESS;
  MPI_Count bytes = 0;
  PMPI_Get_elements_x(&got, MPI_BYTE, &bytes);
  return begin_split(open, bytes);
}

bool read_alone(Open& open, const Row& row, const Arguments& a, int& result) {
  const bool collective =
      row.coordination == Coordination::collective && row.completion != Completion::nonblocking;
  if (collective && open.writable) {
    Status flushed;
    if (!meet(open, flushed)) return false;
    if (!flushed.ok()) {
      result = raise(open, flushed);
      return true;
    }
  }
  if (read_pieces(open, row, a, result)) return true;
  if (row.position == Position::individual) hand_over(open);
  result = read_independent(open, row, a);
  return true;
}

}  // namespace millrace::front
