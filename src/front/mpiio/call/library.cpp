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

template <Slot At, Slot Individual, Slot Shared>
int call_one(Position position, const Arguments& a, MPI_File of, auto* memory) {
  const int count = static_cast<int>(a.count);
  switch (position) {
    case Position::at:
      return call<At>(a.entry, of, a.offset, memory, count, a.type, a.status);
    case Position::individual:
      return call<Individual>(a.entry, of, memory, count, a.type, a.status);
    case Position::shared:
      break;
  }
  return call<Shared>(a.entry, of, memory, count, a.type, a.status);
}

template <Slot At, Slot IAt, Slot Individual, Slot IIndividual>
int call_one_alone(const Row& row, const Arguments& a, auto* memory, auto count, MPI_Status* status) {
  const bool request = row.completion == Completion::nonblocking;
  if (row.position == Position::at)
    return request ? call<IAt>(a.entry, a.file, a.offset, memory, count, a.type, a.request)
                   : call<At>(a.entry, a.file, a.offset, memory, count, a.type, status);
  return request ? call<IIndividual>(a.entry, a.file, memory, count, a.type, a.request)
                 : call<Individual>(a.entry, a.file, memory, count, a.type, status);
}

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
  const int result = call.own(open.handle);
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
  if (moves_less(row, a)) {
    Row blocking = row;
    blocking.completion = Completion::blocking;
    MPI_Status moved;
    const int error = call_alone(blocking, a, &moved);
    return error == MPI_SUCCESS ? completed_request(bytes_of(moved), a.request) : error;
  }
  const void* from = a.memory;
  const bool reads = row.direction == Direction::read;
#if MILLRACE_LARGE_COUNT
  if (a.count > std::numeric_limits<int>::max())
    return reads
               ? call_one_alone<Slot::MPI_File_read_at_c, Slot::MPI_File_iread_at_c, Slot::MPI_File_read_c,
                                Slot::MPI_File_iread_c>(row, a, a.memory, a.count, status)
               : call_one_alone<Slot::MPI_File_write_at_c, Slot::MPI_File_iwrite_at_c, Slot::MPI_File_write_c,
                                Slot::MPI_File_iwrite_c>(row, a, from, a.count, status);
#endif
  const int count = static_cast<int>(a.count);
  return reads ? call_one_alone<Slot::MPI_File_read_at, Slot::MPI_File_iread_at, Slot::MPI_File_read,
                                Slot::MPI_File_iread>(row, a, a.memory, count, status)
               : call_one_alone<Slot::MPI_File_write_at, Slot::MPI_File_iwrite_at, Slot::MPI_File_write,
                                Slot::MPI_File_iwrite>(row, a, from, count, status);
}

int examine(const Call& call) {
  const Arguments& a = call.a;
  static thread_local constinit std::array<const client::TypeMap*, 16> examined{};
  const client::TypeMap*& place = examined[(reinterpret_cast<std::uintptr_t>(a.map) >> 6) % examined.size()];
  if (place == a.map) return MPI_SUCCESS;
  char nothing = 0;
  const void* from = &nothing;
  void* to = &nothing;
  const MPI_Offset begin = 0;
  MPI_Status status;
  const MPI_File of = call.open.handle;
  const int error =
      call.writes() ? front::call<Slot::MPI_File_write_at>(Entry::pmpi, of, begin, from, 0, a.type, &status)
                    : front::call<Slot::MPI_File_read_at>(Entry::pmpi, of, begin, to, 0, a.type, &status);
  if (error == MPI_SUCCESS) place = a.map;
  return error;
}

int call_library(const Row& row, const Arguments& a, MPI_File of) {
  const bool all = row.coordination == Coordination::collective;
  if (row.direction == Direction::read) {
    return all ? call_one<Slot::MPI_File_read_at_all, Slot::MPI_File_read_all, Slot::MPI_File_read_ordered>(
                     row.position, a, of, a.memory)
               : call_one<Slot::MPI_File_read_at, Slot::MPI_File_read, Slot::MPI_File_read_shared>(
                     row.position, a, of, a.memory);
  }
  const void* from = a.memory;
  return all ? call_one<Slot::MPI_File_write_at_all, Slot::MPI_File_write_all, Slot::MPI_File_write_ordered>(
                   row.position, a, of, from)
             : call_one<Slot::MPI_File_write_at, Slot::MPI_File_write, Slot::MPI_File_write_shared>(
                   row.position, a, of, from);
}

int begin_library(const Row& row, const Arguments& a, MPI_File of) {
  const int count = static_cast<int>(a.count);
  return row.position == Position::at
             ? call<Slot::MPI_File_read_at_all_begin>(a.entry, of, a.offset, a.memory, count, a.type)
             : call<Slot::MPI_File_read_all_begin>(a.entry, of, a.memory, count, a.type);
}

int end_library(const Row& row, const Arguments& a, MPI_File of) {
  return row.position == Position::at ? call<Slot::MPI_File_read_at_all_end>(a.entry, of, a.memory, a.status)
                                      : call<Slot::MPI_File_read_all_end>(a.entry, of, a.memory, a.status);
}

}  // namespace millrace::front
