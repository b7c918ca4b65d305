// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/arguments.hpp"

namespace millrace::front {

// A write that needs no other rank (transfer.cpp says why), of memory that this process can access: through
// the pipeline or past it.
int write(Open& open, const Row& row, const Arguments& arguments);

}  // namespace millrace::front
