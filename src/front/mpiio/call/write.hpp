// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/call/call.hpp"

// The ways of writes that need no other rank (way.cpp says why). The memory is accessible to this process.
namespace millrace::front {

// Decides whether a sound write takes the pipeline.
bool enters_pipeline(const Call& call);

int by_pipeline(Call& call);
// By the library's independent function; but pieces with holes between them by this process itself, if the
// library might sieve them.
int past_pipeline(Call& call);

// For a call without bytes. The view may have no byte either, and no map.
int write_nothing(Call& call);
// For wrong arguments, which the library reports.
int write_unmeasured(Call& call);
// For a datatype without a map and a view with holes. Linear puts the bytes in order, and they are written
// like any others.
int write_in_order(Call& call);

}  // namespace millrace::front
