// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/call/arguments.hpp"

namespace millrace::front {

// Carries out a transfer of memory that this process can access, by one of the file's ways. `open` is null
// for a file that is left to the library.
int carry_out(Open* open, const Row& row, const Arguments& arguments) noexcept;

// True if this write needs no other rank, on all ranks alike.
bool writes_alone(const Open& open, const Row& row);

}  // namespace millrace::front
