// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/call/call.hpp"

namespace millrace::front {

// Carries out a write through the pipeline or past it, of memory that this process can access. The write
// needs no other rank; host_transfer.cpp says why.
int write(Call& call);

}  // namespace millrace::front
