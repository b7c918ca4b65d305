// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/call/read.hpp"

#include <algorithm>

#include "client/costs/policy.hpp"
#include "client/file/agent_reads.hpp"
#include "client/file/own_pieces.hpp"
#include "client/file/refresh.hpp"
#include "client/open/stage.hpp"
#include "front/mpiio/call/library.hpp"
#include "front/mpiio/call/pending.hpp"
#include "front/mpiio/handles/table.hpp"
#include "front/mpiio/open/open_first.hpp"
#include "front/mpiio/open/open_read.hpp"

namespace millrace::front {
namespace {

using client::Through;

constexpr Row independent_read{Direction::read, Position::at, Coordination::independent,
                               Completion::blocking};

void note_read(Open& open, std::uint64_t bytes) {
  open.file->counts().read(bytes);
  open.reads.bytes.fetch_add(bytes, std::memory_order_relaxed);
}

// True if the agents should carry this read.
bool goes_through(const Call& call) {
  Open& open = call.open;
  const Through reads = open.reads.through;
  if (reads == Through::none) return false;
  if (reads == Through::all) {
    const bool carried = agents_carry(open);
    if (carried) open.file->counts().why_through.store({client::Reason::stage_chosen});
    return carried;
  }
  const std::uint64_t mean = call.bytes / std::max<std::uint64_t>(call.estimate_pieces(), 1);
  const bool small = mean < client::small_read_bytes;
  const bool carried = small && agents_carry(open);
  const client::Reason why = small ? client::Reason::small_reads : client::Reason::read_by_each_node;
  client::CallCounts& counts = open.file->counts();
  if (carried || !small)
    (carried ? counts.why_through : counts.why_not_through)
        .store({why, mean, mean, client::small_read_bytes});
  return carried;
}

Status read_own_pieces(client::File& file, client::PieceSource& source) {
  client::OwnPieces* const own = file.own_pieces();
  return own != nullptr ? own->read(source) : Code::unsupported;
}

// From the file, or through the agents.
Status read_now(const Call& call, bool through) {
  client::PieceSource source = call.pieces();
  return through
             ? call.open.file->agent_reads()->read(call.open.view.map, call.position, source, call.hull.end)
             : read_own_pieces(*call.open.file, source);
}

// Reads the pieces of a call, from the file or through the agents. False: the library has to read, after the
// flush that was made here. At most the memory of the read has changed.
bool read_pieces(Call& call, int& result) {
  Open& open = call.open;
  if (call.a.count <= 0) return false;
  if (call.a.memory == nullptr || !call.measure() || call.bytes == 0) {
    (void)open.file->flush(everything);
    return false;
  }
  if (const Status flushed = open.file->flush(call.hull); !flushed.ok()) {
    result = raise(open, flushed);
    return true;
  }
  if (call.nonblocking() && call.a.request == nullptr) return false;
  const bool through = goes_through(call);
  // The library reads one piece as fast, and in the background if the call is non-blocking.
  if (!through && (call.one_piece || open.reads.until_written)) return false;
  if (const int error = examine(open, Direction::read, call.a); error != MPI_SUCCESS) {
    result = error;
    return true;
  }
  if (call.moves_pointer()) call.reserve();
  const bool pends = through && can_pend(call);
  const Status got = pends ? begin_pending(call, result) : read_now(call, through);
  if (!got.ok()) {
    if (call.moves_pointer()) call.give_back();
    return false;
  }
  note_read(open, call.bytes);
  if (!pends) result = call.complete(call.bytes);
  return true;
}

// Makes a collective read find the earlier writes of all ranks. The MPI library's two-phase read has the same
// effect. False, on all ranks alike, if the ranks cannot meet, or if a rank has written a file whose reads
// the agents carry.
bool meet(Open& open, Status& flushed) {
  flushed = open.file->publish();
  if (!open.reads.until_written) return all_ranks(open, true);
  agree_on_writes(open);
  return open.reads.alone;
}

// True if this read needs no other rank, on all ranks alike.
bool needs_no_other(const Call& call) {
  const Open& open = call.open;
  return open.reads.alone && call.row.position != Position::shared && !open.atomic && !open.view.foreign &&
         !open.nodes.bypassed;
}

// False, on all ranks alike: the MPI library's own function has to read.
bool read_alone(Call& call, int& result) {
  if (call.meets() && call.open.writable) {
    Status flushed;
    if (!meet(call.open, flushed)) return false;
    if (!flushed.ok()) {
      result = raise(call.open, flushed);
      return true;
    }
  }
  if (!read_pieces(call, result)) result = read_by_library(call);
  return true;
}

// True if the individual pointer ends where the bytes end, and not where the request ends: as in this
// library.
bool stops_at_end([[maybe_unused]] const Call& call) {
#ifdef OPEN_MPI
  return false;
#else
  return !call.nonblocking();
#endif
}

// On a node without the file. The library checks the arguments, by a read of nothing.
int read_from_server(Call& call) {
  Open& open = call.open;
  int amode = 0;
  const bool readable =
      PMPI_File_get_amode(open.handle, &amode) == MPI_SUCCESS && (amode & MPI_MODE_WRONLY) == 0;
  if (!readable || call.a.count <= 0 || call.is_empty()) return read_by_library(call);
  Arguments nothing = call.a;
  nothing.count = 0;
  MPI_Status status;
  if (const int error = call_alone(independent_read, nothing, &status); error != MPI_SUCCESS) return error;
  if (!call.sound()) return not_on_first(open, "reading with these arguments or this view");
  if (call.moves_pointer()) call.reserve();
  const Result<std::uint64_t> got =
      open.file->agent_reads()->read_from_server(open.view.map, call.position, call.pieces(), call.hull.end);
  const std::uint64_t moved = got ? *got : 0;
  if (call.moves_pointer() && (!got || (moved < call.bytes && stops_at_end(call)))) call.give_back(moved);
  if (!got) return raise(open, got.status());
  note_read(open, moved);
  return call.complete(moved);
}

int read_on_first(Call& call) {
  Open& open = call.open;
  const bool here = open.first.location == Open::Location::here;
  Status status;
  // A collective read finds earlier writes of all ranks, as on a file that all nodes see. A non-blocking read
  // must not wait for other ranks, so it has no such guarantee.
  if (open.writable && call.meets()) {
    status = open.file->publish();
    (void)all_ranks(open, true);
  }
  bool wrote = false;  // bytes that the agents have read ahead may be older
  if (status.ok()) status = here ? open.file->flush(call.touched()) : publish_others(open, wrote);
  if (!status.ok()) return raise(open, status);
  if (here) return read_by_library(call);
  const bool ahead = !wrote && open.reads.through != Through::none;
  if (int result = MPI_SUCCESS; ahead && read_pieces(call, result)) return result;
  return read_from_server(call);
}

// The ranks meet before this read, so that it finds earlier writes of all nodes. MPI requires the program to
// sync in between. But I/O libraries do not, because on one node they need no sync.
Status meet_for_library(Open& open) {
  const Status status = open.file->publish();
  (void)all_ranks(open, true);
  client::refresh(open.path);
  return status;
}

}  // namespace

int read_by_library(const Call& call) {
  MPI_Status got;
  const Arguments& a = call.a;
  const bool split = call.row.completion == Completion::split_begin;
  const auto read = [&] { return call_alone(call.row, a, split ? &got : a.status); };
  const int error = call.moves_pointer() ? call.open.pointer.lend(read) : read();
  if (error != MPI_SUCCESS) return error;
  if (a.count > 0 && a.map != nullptr)
    note_read(call.open, a.map->size * static_cast<std::uint64_t>(a.count));
  return split ? call.complete(got) : MPI_SUCCESS;
}

bool read(Call& call, int& result, Status& flushed) {
  Open& open = call.open;
  if (open.first.location != Open::Location::everywhere) {
    result = read_on_first(call);
    return true;
  }
  if (needs_no_other(call) && read_alone(call, result)) return true;
  if (open.nodes.routed && call.meets()) {
    flushed = meet_for_library(open);
  } else {
    flushed = open.file->flush(call.touched());
  }
  if (call.moves_pointer()) open.pointer.give_to_library();
  return false;
}

}  // namespace millrace::front
