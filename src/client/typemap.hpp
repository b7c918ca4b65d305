// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace millrace::client {

// `count` pieces of `length` bytes, the first at `displacement` from the type's origin, the next `stride`
// bytes further on each. Pieces are in type-map order, which need not be address order in memory types.
//
//    displacement
//        |<length>|.......|<length>|.......|<length>|
//        |<--- stride --->|
//
struct Run {
  std::int64_t displacement;
  std::uint64_t length;
  std::uint64_t count;
  std::int64_t stride;
  friend bool operator==(const Run&, const Run&) = default;
};

// A flattened MPI datatype, in memory or in a file. Immutable once built; shared by pointer.
struct TypeMap {
  std::vector<Run> runs;      // in type-map order, adjacent pieces joined
  std::uint64_t size = 0;     // bytes of data in one element
  std::int64_t lower = 0;     // lower bound
  std::int64_t extent = 0;    // distance from one element to the next
  bool contiguous = false;    // one run at displacement 0 with length == extent == size
};

// A type of `size` contiguous bytes.
TypeMap contiguous_type(std::uint64_t size);

}  // namespace millrace::client
