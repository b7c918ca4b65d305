// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/device/transfer.hpp"

#include "front/device/door.hpp"
#include "front/mpiio/call/way.hpp"
#include "front/mpiio/device/staged.hpp"
#include "front/mpiio/handles/table.hpp"
#include "front/mpiio/types/datatype.hpp"

namespace millrace::front {
namespace {

// True if this call has to check whether a device's driver is loaded. Small writes into the pipeline do not
// check; larger calls do.
bool worth_looking(const Open* open, const Row& row, const Arguments& arguments) {
  return open == nullptr || row.direction == Direction::read || !open->view.mapped ||
         arguments.map == nullptr ||
         arguments.map->size * static_cast<std::uint64_t>(arguments.count) >= device::worth_looking_bytes;
}

}  // namespace

int transfer(const Row& row, Arguments arguments) noexcept {
  const Scope scope;
  Open* open = scope.find(arguments.file);
  if (open != nullptr && row.completion != Completion::split_end) arguments.map = find_map(arguments.type);
  // If Millrace fails, the program may still wait for the request.
  if (open != nullptr && row.completion == Completion::nonblocking && arguments.request != nullptr)
    *arguments.request = MPI_REQUEST_NULL;
  if (worth_looking(open, row, arguments)) device::look();
  int result = MPI_SUCCESS;
  if (device::driver_seen.load(std::memory_order_relaxed) && scope.outermost() &&
      staged(open, row, arguments, result))
    return result;
  return carry_out(open, row, arguments);
}

}  // namespace millrace::front
