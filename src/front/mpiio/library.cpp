// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/library.hpp"

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

}  // namespace

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
