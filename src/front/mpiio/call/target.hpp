// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/call/arguments.hpp"

namespace millrace::front {

// The bytes of a transfer, in the program's memory and in the file.
struct Target {
  std::uint64_t position;  // of the first byte in the view's data
  const client::TypeMap* memory;
  std::uint64_t bytes;
  Extent hull;
  bool one_piece;  // in the file: the bytes fill their hull, in order
};

// Computes the bytes of a transfer, and the position of the first one in the view's data. False: the
// arguments are wrong, or there is no map. The library reports wrong arguments. The individual pointer does
// not move.
bool measure(Open& open, const Row& row, const Arguments& arguments, Target& target);
void find_hull(const Open& open, Target& target);

// Moves the individual pointer past `target.bytes` bytes. Another thread may have moved it since measure(),
// so this sets `target.position` again. The hull is still that of the measured position.
void reserve(Open& open, Target& target);

}  // namespace millrace::front
