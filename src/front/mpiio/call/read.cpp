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

// For a read of pieces past the library. Another thread may have moved the pointer, so the place is taken
// first.
int begin(Call& call) {
  if (const int error = examine(call); error != MPI_SUCCESS) return error;
  call.reserve();
  const Status settled = call.settle(call.hull);
  if (settled.ok()) return MPI_SUCCESS;
  call.give_back();
  return raise(call.open, settled);
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
  if (open.left_to_library()) return {};
  Status status;
  const bool wanted = open.nodes.routed || reads_alone(call);
  if (wanted && call.meets() && open.writable) {
    status = open.file->flush(Before::others_read);
    if (open.reads.until_written && open.reads.alone)
      agree_on_writes(open);
    else if (!all_ranks(open, true))
      open.reads.alone = false;
    if (open.nodes.routed && !open.reads.alone && open.first.location == Open::Location::everywhere)
      client::refresh(open.path);
  }
  const Status others = open.first.location == Open::Location::elsewhere ? publish_others(open) : Status();
  return status.ok() ? others : status;
}

bool goes_through(const Call& call) {
  Open& open = call.open;
  const Through reads = open.reads.through;
  if (reads == Through::none) return false;
  client::CallCounts& counts = open.file->counts();
  client::Ground ground{client::Reason::stage_chosen};
  if (reads != Through::all) {
    const std::uint64_t mean = call.bytes / std::max<std::uint64_t>(call.estimate_pieces(), 1);
    const std::uint64_t by_agents = client::carried_by_agents(mean);
    const std::uint64_t by_library = client::carried_by_library(mean);
    const bool small = by_agents < by_library;
    ground = {small ? client::Reason::small_reads : client::Reason::read_by_each_node, mean, by_agents,
              by_library};
    if (!small) return counts.why_not_through.store(ground), false;
  }
  const bool carried = agents_carry(open);
  if (carried) counts.why_through.store(ground);
  return carried;
}

int from_agents(Call& call) {
  if (const int error = begin(call); error != MPI_SUCCESS) return error;
  if (can_pend(call)) return begin_pending(call);
  const Status got =
      call.open.file->agent_reads()->read(call.open.view.map, call.position, call.pieces(), call.hull.end);
  return got.ok() ? call.complete(call.bytes) : unread;
}

int read_by_own_pieces(Call& call) {
  if (const int error = begin(call); error != MPI_SUCCESS) return error;
  client::PieceSource source = call.pieces();
  return call.open.file->own_pieces()->read(source).ok() ? call.complete(call.bytes) : unread;
}

int from_server(Call& call) {
  Open& open = call.open;
  int amode = 0;
  const bool readable =
      PMPI_File_get_amode(open.handle, &amode) == MPI_SUCCESS && (amode & MPI_MODE_WRONLY) == 0;
  if (!readable || call.a.count <= 0 || call.is_empty()) return by_library_alone(call);
  // The library checks the arguments, by a read of nothing.
  Arguments nothing = call.a;
  nothing.count = 0;
  MPI_Status status;
  if (const int error = call_alone(independent_read, nothing, &status); error != MPI_SUCCESS) return error;
  if (!call.sound()) return not_on_first(open, "reading with these arguments or this view");
  call.reserve();
  const Result<std::uint64_t> got =
      open.file->agent_reads()->read_from_server(open.view.map, call.position, call.pieces(), call.hull.end);
  const std::uint64_t moved = got ? *got : 0;
  if (!got || (moved < call.bytes && stops_at_end(call))) call.give_back(moved);
  return got ? call.complete(moved) : raise(open, got.status());
}

int from_copy(Call& call) {
  Open& open = call.open;
  const int result = call_library(call.row, call.a, open.reads.reader->copy);
  // The program has set its error handler on its own handle, not on that of the copy.
  if (result != MPI_SUCCESS) PMPI_File_call_errhandler(open.handle, result);
  return result;
}

}  // namespace millrace::front
