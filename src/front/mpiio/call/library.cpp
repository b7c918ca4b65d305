// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/call/library.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "base/library_call.hpp"
#include "front/mpiio/call/completion.hpp"

namespace millrace::front {
namespace {

#include "front/mpiio/generated/rows.inc"

// The most bytes that one read(2) or write(2) moves on Linux.
constexpr MPI_Count most_of_one_call = 0x7ffff000;

// ROMIO's non-blocking independent functions make one system call. Its collective ones move all bytes.
bool moves_less(const Row& row, const Arguments& a) {
  MPI_Count unit = 0;
  return row.completion == Completion::nonblocking && row.coordination == Coordination::collective &&
         PMPI_Type_size_x(a.type, &unit) == MPI_SUCCESS &&
         a.count > most_of_one_call / std::max<MPI_Count>(unit, 1);
}

}  // namespace

int by_library(Call& call) {
  Open& open = call.open;
  const bool all = call.writes() && call.row.coordination == Coordination::collective;
  const bool met = open.nodes.routed && call.meets() && !call.writes();  // meet_before_reading()
  const Status settled = met ? Status() : call.settle(all ? everything : call.touched());
  if (call.moves_pointer()) open.pointer.give_to_library();
  const LibraryCall under_way;
  const int result = call_library(call.row, call.a, open.handle);
  if (result == MPI_SUCCESS && call.writes()) open.file->counts().moved_by_library(call.asked());
  return settled.ok() ? result : raise(open, settled);
}

int by_library_alone(Call& call) {
  if (const Status settled = call.settle(call.touched()); !settled.ok()) return raise(call.open, settled);
  MPI_Status moved;
  const bool split = call.row.completion == Completion::split_begin;
  const auto move = [&] { return call_alone(call.row, call.a, split ? &moved : call.a.status); };
  const int error = call.moves_pointer() ? call.open.pointer.lend(move) : move();
  return error == MPI_SUCCESS && split ? call.complete(static_cast<std::uint64_t>(bytes_of(moved))) : error;
}

int call_alone(const Row& row, const Arguments& a, MPI_Status* status) {
  const bool request = row.completion == Completion::nonblocking;
  const bool now = request && moves_less(row, a);
  MPI_Status moved;
  Arguments own = a;
  own.status = now ? &moved : status;
  const Row alone{row.direction, row.position, Coordination::independent,
                  request && !now ? Completion::nonblocking : Completion::blocking};
  const int error = call_library(alone, own, a.file);
  return error == MPI_SUCCESS && now ? completed_request(bytes_of(moved), a.request) : error;
}

int examine(const Call& call) {
  static thread_local constinit std::array<const client::TypeMap*, 16> examined{};
  const client::TypeMap* const map = call.a.map;
  const client::TypeMap*& place = examined[(reinterpret_cast<std::uintptr_t>(map) >> 6) % examined.size()];
  if (place == map) return MPI_SUCCESS;
  char nothing = 0;
  MPI_Status status;
  const Row row{call.row.direction, Position::at, Coordination::independent, Completion::blocking};
  const Arguments none{Entry::pmpi, call.open.handle, 0, &nothing, 0, call.a.type, &status, nullptr};
  const int error = call_library(row, none, call.open.handle);
  if (error == MPI_SUCCESS) place = map;
  return error;
}

int call_library(const Row& row, const Arguments& a, MPI_File of) {
#if MILLRACE_LARGE_COUNT
  if (a.large || a.count > std::numeric_limits<int>::max()) return call_large_row(row, a, of);
#endif
  return call_row(row, a, of);
}

}  // namespace millrace::front
