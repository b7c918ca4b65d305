// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace millrace::client {

// One contiguous piece of a transfer: `size` bytes of memory to `offset` of the file.
struct Piece {
  std::uint64_t offset;
  const void* data;
  std::uint64_t size;
};

}  // namespace millrace::client
