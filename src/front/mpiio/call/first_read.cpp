// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/call/first_read.hpp"

#include "client/open/stage.hpp"
#include "front/mpiio/call/own_read.hpp"
#include "front/mpiio/call/target.hpp"
#include "front/mpiio/handles/table.hpp"
#include "front/mpiio/open/first.hpp"

namespace millrace::front {
namespace {

// Pieces closer together than this are fetched with the bytes between them.
constexpr std::uint64_t gap_bytes = 64 * KiB;
constexpr std::uint64_t extent_bytes = 4 * MiB;

Status fetch_pieces(Open& open, const Target& target) {
  std::uint64_t end = UINT64_MAX;  // of the file, once an extent has reached it
  const auto fetch = [&](Extent extent) -> Status {
    if (extent.begin >= end) return {};
    const Status status = open.file->fetch(extent);
    const std::uint64_t size = client::stamp_of(open.stand_in.get()).size;
    if (extent.end > size) end = size;
    return status;
  };
  return client::for_each_extent(open.view, target.position, target.bytes, gap_bytes, extent_bytes, fetch);
}

// Brings the bytes of the next read into the file that the library reads.
Status bring(Open& open, const Row& row, const Arguments& a) {
  const bool here = open.location == Open::Location::here;
  if (a.count <= 0) return {};
  Target target{};
  // If the extent of a call is unknown, the call may touch the whole file.
  if (!open.pipeline() || !measure(open, row, a, target))
    return here ? open.file->flush(everything) : open.file->fetch(everything);
  if (target.bytes == 0) return {};
  find_hull(open, target);
  if (here) return open.file->flush(target.hull);
  return target.one_piece ? open.file->fetch(target.hull) : fetch_pieces(open, target);
}

}  // namespace

int read_on_first(Open& open, const Row& row, const Arguments& a) {
  Status status;
  // A collective read finds earlier writes of all ranks, as on a file that all nodes see. A non-blocking read
  // must not wait for other ranks, so it has no such guarantee.
  if (open.writable && row.coordination == Coordination::collective &&
      row.completion != Completion::nonblocking) {
    status = open.file->publish();
    meet_on_first(open);
  }
  bool wrote = false;  // bytes that the agents have read ahead may be older
  if (status.ok() && open.location == Open::Location::elsewhere) status = publish_others(open, wrote);
  if (int result = MPI_SUCCESS;
      status.ok() && !wrote && open.through != Through::none && read_pieces(open, row, a, result))
    return result;
  if (status.ok()) status = bring(open, row, a);
  if (!status.ok()) return raise(open, status);
  if (row.position == Position::individual) hand_over(open);
  return read_independent(open, row, a);
}

}  // namespace millrace::front
