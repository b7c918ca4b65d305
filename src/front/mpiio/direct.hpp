// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/target.hpp"

namespace millrace::front {

// Writes that do not take the pipeline on a file that has one. They never need another rank: a collective
// call becomes this rank's independent one.

// `target` is nullptr if the arguments are wrong: the library's own checks answer then.
int write_direct(Open& open, const Row& row, const Arguments& arguments, const Target* target);

// True: write_direct() writes it itself, under a lock. A sieve of another rank rewrites holes of up to
// sweep.gap bytes. So pieces that fit into such a hole need the lock too; ROMIO writes one piece without. A
// larger piece lies in no hole that a sieve rewrites.
bool writes_under_lock(const Open& open, const Target& target);

}  // namespace millrace::front
