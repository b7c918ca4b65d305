// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace millrace {

// A half-open range [begin, end) of file offsets, in bytes.
//
//      begin            end
//        |---------------|
//
struct Extent {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  constexpr std::uint64_t size() const { return end - begin; }
  constexpr bool empty() const { return begin >= end; }
  constexpr bool intersects(Extent other) const { return begin < other.end && other.begin < end; }
  constexpr bool contains(Extent other) const { return begin <= other.begin && other.end <= end; }
  friend constexpr bool operator==(Extent, Extent) = default;
};

inline constexpr Extent everything{0, UINT64_MAX};

constexpr Extent intersection(Extent a, Extent b) {
  const Extent both{a.begin > b.begin ? a.begin : b.begin, a.end < b.end ? a.end : b.end};
  return both.empty() ? Extent{} : both;
}

// The smallest extent that holds both. An empty extent counts for nothing.
constexpr Extent hull(Extent a, Extent b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return {a.begin < b.begin ? a.begin : b.begin, a.end > b.end ? a.end : b.end};
}

}  // namespace millrace
