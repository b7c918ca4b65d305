// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/call/arguments.hpp"

namespace millrace::front {

// Every hook of a transfer function calls this. The functions that it calls do not check for device memory
// again.
int transfer(const Row& row, Arguments arguments) noexcept;

}  // namespace millrace::front
