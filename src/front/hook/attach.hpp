// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/generated/slots.hpp"

namespace millrace::front {

inline constexpr unsigned slot_count = static_cast<unsigned>(Slot::count);
inline constexpr unsigned attach_version = 1;

// The name that the program called. The real function is the next one of the same name.
enum class Entry : unsigned { mpi = 0, pmpi = 1 };

// libmillrace.so passes this to the implementation library for the MPI library that it found.
struct Attach {
  unsigned version;  // attach_version of the caller
  unsigned slots;    // slot_count of the caller
  // 2 * slots entries: [2 * slot + entry]. nullptr: this MPI lacks the function. The table stays valid.
  void* const* real;
  // 2 * slots entries to fill. nullptr: the real function is called.
  void** hooks;
};

// Exported by libmillrace-mpich.so, -ompi.so and -abi.so. A nonzero result means that the library cannot be
// used, and all calls go to the real functions.
using AttachFunction = int (*)(const Attach*);
inline constexpr const char* attach_symbol = "millrace_attach";

}  // namespace millrace::front
