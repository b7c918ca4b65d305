// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "extent/extent.hpp"

namespace millrace {

// A set of file offsets, kept as extents that are sorted, disjoint and never touch: extents that touch become
// one.
//
//    insert [2,5)      |--|__|---|_____          |--|           [0,2)
//    into {[0,2),[5,8)}                  gives   |-----------|  [0,8)
//
// Operations at the end of the set cost O(1) amortised, others a binary search and a move of the tail:
// made for few extents, or many that come in order. Copies and moves as a vector does. Not thread safe.
class ExtentSet {
 public:
  using const_iterator = std::vector<Extent>::const_iterator;

  ExtentSet() = default;
  ExtentSet(std::initializer_list<Extent> extents);

  // Adds every offset of `extent`; an empty one adds nothing. Returns how many bytes are new.
  std::uint64_t insert(Extent extent);
  void insert(const ExtentSet& other);

  // Takes every offset of `extent` away. Returns how many bytes went.
  std::uint64_t subtract(Extent extent);
  void subtract(const ExtentSet& other);

  // True if every offset of `extent` is in the set; an empty extent always is.
  bool covers(Extent extent) const;
  // True if any offset of `extent` is in the set.
  bool intersects(Extent extent) const;

  // The parts of the set inside `extent`, and the parts of `extent` that the set lacks.
  ExtentSet within(Extent extent) const;
  ExtentSet missing(Extent extent) const;

  // From the first offset to the last, gaps included; empty if the set is.
  Extent hull() const;

  std::uint64_t bytes() const { return bytes_; }
  std::size_t count() const { return extents_.size(); }
  bool empty() const { return extents_.empty(); }
  void clear();
  void reserve(std::size_t extents) { extents_.reserve(extents); }

  // In ascending order.
  const_iterator begin() const { return extents_.begin(); }
  const_iterator end() const { return extents_.end(); }
  Extent front() const { return extents_.front(); }
  Extent back() const { return extents_.back(); }

  friend bool operator==(const ExtentSet&, const ExtentSet&) = default;

 private:
  std::size_t first_ending_after(std::uint64_t offset) const;

  std::vector<Extent> extents_;
  std::uint64_t bytes_ = 0;
};

}  // namespace millrace
