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

// Lets `bring` read the pieces of a sound call. If it cannot, the call goes another way: at most the memory
// of the read has changed.
template <class Bring>
int read_pieces(Call& call, Bring bring, int (*otherwise)(Call&)) {
  Open& open = call.open;
  if (const Status flushed = open.file->flush(Before::read, call.hull); !flushed.ok())
    return raise(open, flushed);
  if (const int error = examine(open, Direction::read, call.a); error != MPI_SUCCESS) return error;
  if (call.moves_pointer()) call.reserve();
  int result = MPI_SUCCESS;
  if (!bring(result).ok()) {
    if (call.moves_pointer()) call.give_back();
    return otherwise(call);
  }
  note_read(open, call.bytes);
  return result;
}

}  // namespace

bool reads_alone(const Call& call) {
  const Open& open = call.open;
  return open.reads.alone && call.row.position != Position::shared && !open.atomic && !open.view.foreign &&
         !open.nodes.bypassed;
}

bool has_pieces(Call& call) { return call.a.count > 0 && call.sound() && call.bytes > 0; }

Status meet_before_reading(const Call& call) {
  Open& open = call.open;
  const bool wanted = open.nodes.routed || reads_alone(call);
  if (!wanted || !call.meets() || !open.writable || open.left_to_library()) return {};
  const Status status = open.file->flush(Before::others_read);
  if (open.reads.until_written && open.reads.alone)
    agree_on_writes(open);
  else if (!all_ranks(open, true))
    open.reads.alone = false;
  if (open.nodes.routed && !open.reads.alone && open.first.location == Open::Location::everywhere)
    client::refresh(open.path);
  return status;
}

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
  const std::uint64_t by_agents = client::carried_by_agents(mean);
  const std::uint64_t by_library = client::carried_by_library(mean);
  const bool small = by_agents < by_library;
  const bool carried = small && agents_carry(open);
  const client::Reason why = small ? client::Reason::small_reads : client::Reason::read_by_each_node;
  client::CallCounts& counts = open.file->counts();
  if (carried || !small)
    (carried ? counts.why_through : counts.why_not_through).store({why, mean, by_agents, by_library});
  return carried;
}

int from_agents(Call& call) {
  Open& open = call.open;
  const auto bring = [&](int& result) -> Status {
    if (can_pend(call)) return begin_pending(call, result);
    client::PieceSource source = call.pieces();
    const Status got = open.file->agent_reads()->read(open.view.map, call.position, source, call.hull.end);
    if (got.ok()) result = call.complete(call.bytes);
    return got;
  };
  return read_pieces(call, bring,
                     open.first.location == Open::Location::elsewhere ? ask_server : by_library_alone);
}

int read_by_own_pieces(Call& call) {
  client::OwnPieces* const own = call.open.file->own_pieces();
  if (own == nullptr) return by_library_alone(call);
  const auto bring = [&](int& result) {
    client::PieceSource source = call.pieces();
    const Status got = own->read(source);
    if (got.ok()) result = call.complete(call.bytes);
    return got;
  };
  return read_pieces(call, bring, by_library_alone);
}

int from_server(Call& call) {
  Open& open = call.open;
  bool wrote = false;  // bytes that the agents have read ahead may be older
  if (const Status status = publish_others(open, wrote); !status.ok()) return raise(open, status);
  const bool ahead = !wrote && open.reads.through != Through::none;
  return ahead && has_pieces(call) && goes_through(call) ? from_agents(call) : ask_server(call);
}

int from_copy(Call& call) {
  Open& open = call.open;
  const int result = call.own(open.reads.reader->copy);
  if (call.row.completion != Completion::split_end) note_read(open, call.asked());
  // The program has set its error handler on its own handle, not on that of the copy.
  if (result != MPI_SUCCESS) PMPI_File_call_errhandler(open.handle, result);
  return result;
}

}  // namespace millrace::front
