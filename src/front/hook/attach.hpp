// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/generated/slots.hpp"

namespace millrace::front {

inline constexpr unsigned slot_count = static_cast<unsigned>(Slot::count);
inline constexpr unsigned attach_version = 1;

// The name by which a call came in; its real function is the next one of the same name.
enum class Entry : unsigned { mpi = 0, pmpi = 1 };

// libmillrace.so gives this to the implementation library of the MPI that it found.
struct Attach {
  unsigned version;   // attach_version of the caller
  unsigned slots;     // slot_count of the caller
  void* const* real;  // 2 * slots entries: [2 * slot + entry]; nullptr = this MPI lacks it. Stays valid.
  void** hooks;       // 2 * slots entries to fill; nullptr = leave to the real function
};

// Exported by libmillrace-mpich.so, -ompi.so and -abi.so. Nonzero: not usable, pass everything through.
using AttachFunction = int (*)(const Attach*);
inline constexpr const char* attach_symbol = "millrace_attach";

}  // namespace millrace::front
