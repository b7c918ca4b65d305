// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/arguments.hpp"

namespace millrace::front {

// The place of a transfer, if it could be computed.
struct Target {
  std::uint64_t position;  // bytes of the view's data
  const client::TypeMap* memory;
  std::uint64_t bytes;
  Extent hull;
  bool one_piece;  // in the file: the bytes are their hull, in order
};

// Computes the bytes of a transfer, and the position of the first one in the view's data. False: the
// arguments are wrong, which the library reports, or there is no map. The individual pointer does not move.
bool measure(Open& open, const Row& row, const Arguments& arguments, Target& target);
void find_hull(const Open& open, Target& target);

// Takes `target.bytes` bytes at the individual pointer, which may have moved since it was measured. The hull
// stays that of the measured position.
void reserve(Open& open, Target& target);

}  // namespace millrace::front
