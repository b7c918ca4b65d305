// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/call/target.hpp"

namespace millrace::front {

// Writes to an accelerated file that do not take the pipeline. They never need another rank: a collective
// call of the program becomes an independent call of this rank.

// `target` is nullptr if the bytes of the call are not known. The library then checks the arguments itself.
int write_direct(Open& open, const Row& row, const Arguments& arguments, const Target* target);

// True if write_direct() writes the bytes itself, under a lock. Data sieving of another rank rewrites holes
// of up to sweep.gap bytes. ROMIO writes a single piece without a lock, so Millrace writes a piece that fits
// into such a hole. A larger piece lies in no hole that is rewritten.
bool writes_under_lock(const Open& open, const Target& target);

}  // namespace millrace::front
