// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/call/read.hpp"

#include <algorithm>

#include "client/costs/policy.hpp"
#include "client/file/agent_reads.hpp"
#include "client/file/own_pieces.hpp"
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
    (void)open.file->flush(Before::read);
    return false;
  }
  if (const Status flushed = open.file->flush(Before::read, call.hull); !flushed.ok()) {
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
  flushed = open.file->flush(Before::others_read);
  if (!open.reads.until_written) return all_ranks(open, true);
  agree_on_writes(open);
  return open.reads.alone;
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
int ask_server(Call& call) {
  Open& open = call.open;
  int amode = 0;
  const bool readable =
      PMPI_File_get_amode(open.handle, &amode) == MPI_SUCCESS && (amode & MPI_MODE_WRONLY) == 0;
  if (!readable || call.a.count <= 0 || call.is_empty()) return by_library_alone(call);
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

// A collective read finds earlier writes of all ranks, as on a file that all nodes see. A non-blocking read
// must not wait for other ranks, so it has no such guarantee.
Status meet_on_first(const Call& call) {
  if (!call.open.writable || !call.meets()) return {};
  const Status status = call.open.file->flush(Before::others_read);
  (void)all_ranks(call.open, true);
  return status;
}

}  // namespace

int read_alone(Call& call) {
  Open& open = call.open;
  if (call.meets() && open.writable) {
    Status flushed;
    if (!meet(open, flushed)) return by_library(call);
    if (!flushed.ok()) return raise(open, flushed);
  }
  int result = MPI_SUCCESS;
  return read_pieces(call, result) ? result : by_library_alone(call);
}

int beside_server(Call& call) {
  Status status = meet_on_first(call);
  if (status.ok()) status = call.open.file->flush(Before::read, call.touched());
  return status.ok() ? by_library_alone(call) : raise(call.open, status);
}

int from_server(Call& call) {
  Open& open = call.open;
  Status status = meet_on_first(call);
  bool wrote = false;  // bytes that the agents have read ahead may be older
  if (status.ok()) status = publish_others(open, wrote);
  if (!status.ok()) return raise(open, status);
  const bool ahead = !wrote && open.reads.through != Through::none;
  int result = MPI_SUCCESS;
  return ahead && read_pieces(call, result) ? result : ask_server(call);
}

int from_copy(Call& call) {
  Open& open = call.open;
  const int result = call.own(open.reads.reader->copy);
  if (call.row.completion != Completion::split_end) note_read(open, call.asked());
  // The program has set its error handler on its own handle, not on that of the copy.
  if (result != MPI_SUCCESS) PMPI_File_call_errhandler(open.handle, result);
  return result;
}

int past_copy(Call& call) {
  const Status flushed = call.open.file->flush(Before::read);
  const int result = by_library_alone(call);
  return flushed.ok() ? result : raise(call.open, flushed);
}

}  // namespace millrace::front
