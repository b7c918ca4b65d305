// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/call/arguments.hpp"

namespace millrace::front {

// Carries out a transfer of device memory. False: the memory is the host's, or the call goes unchanged to the
// MPI library, which may support device memory.
bool staged(Open* open, const Row& row, const Arguments& arguments, int& result) noexcept;

}  // namespace millrace::front
