// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/hook/attach.hpp"

#include "front/mpiio/call/calls.hpp"
#include "front/mpiio/device/transfer.hpp"
#include "front/mpiio/open/inputs.hpp"
#include "front/mpiio/open/open_write.hpp"

namespace millrace::front {

void* const* real_functions = nullptr;

namespace {

// Checks for each hook that its type is that of the MPI function.
template <Slot S>
void put(void** table, typename Function<S>::type mpi, typename Function<S>::type pmpi) {
  const unsigned first = 2 * static_cast<unsigned>(S);
  table[first] = reinterpret_cast<void*>(mpi);
  table[first + 1] = reinterpret_cast<void*>(pmpi);
}

#include "front/mpiio/generated/hooks.inc"

}  // namespace
}  // namespace millrace::front

extern "C" __attribute__((visibility("default"))) int millrace_attach(const millrace::front::Attach* attach) {
  using namespace millrace::front;
  if (attach->version != attach_version || attach->slots != slot_count) return 1;
  real_functions = attach->real;
  fill(attach->hooks);
  return 0;
}
