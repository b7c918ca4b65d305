// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "extent/extent_set.hpp"

#include <algorithm>

namespace millrace {

ExtentSet::ExtentSet(std::initializer_list<Extent> extents) {
  for (const Extent extent : extents) insert(extent);
}

// Index of the first extent with end > offset.
std::size_t ExtentSet::first_ending_after(std::uint64_t offset) const {
  const auto found = std::upper_bound(extents_.begin(), extents_.end(), offset,
                                      [](std::uint64_t value, Extent e) { return value < e.end; });
  return static_cast<std::size_t>(found - extents_.begin());
}

std::uint64_t ExtentSet::insert(Extent extent) {
  if (extent.empty()) return 0;
  if (extents_.empty() || extent.begin > extents_.back().end) {
    extents_.push_back(extent);
    bytes_ += extent.size();
    return extent.size();
  }
  if (extent.begin >= extents_.back().begin) {  // joins the last one, where a writer that goes forward is
    Extent& last = extents_.back();
    const std::uint64_t added = extent.end > last.end ? extent.end - last.end : 0;
    last.end += added;
    bytes_ += added;
    return added;
  }
  // [first, last) touch or overlap the new one; they become one with it.
  const std::size_t first = extent.begin == 0 ? 0 : first_ending_after(extent.begin - 1);
  std::size_t last = first;
  std::uint64_t before = 0;
  Extent joined = extent;
  for (; last < extents_.size() && extents_[last].begin <= extent.end; ++last) {
    before += extents_[last].size();
    joined = millrace::hull(joined, extents_[last]);
  }
  const auto at = [this](std::size_t index) { return extents_.begin() + static_cast<std::ptrdiff_t>(index); };
  if (first == last) {
    extents_.insert(at(first), joined);
  } else {
    extents_[first] = joined;
    extents_.erase(at(first + 1), at(last));
  }
  bytes_ += joined.size() - before;
  return joined.size() - before;
}

void ExtentSet::insert(const ExtentSet& other) {
  if (&other == this) return;
  for (const Extent extent : other) insert(extent);
}

std::uint64_t ExtentSet::subtract(Extent extent) {
  if (extent.empty()) return 0;
  const std::size_t first = first_ending_after(extent.begin);
  std::size_t last = first;
  std::uint64_t removed = 0;
  for (; last < extents_.size() && extents_[last].begin < extent.end; ++last) {
    removed += intersection(extents_[last], extent).size();
  }
  if (first == last) return 0;
  // At most a head of the first and a tail of the last remain.
  const Extent head{extents_[first].begin, extent.begin};
  const Extent tail{extent.end, extents_[last - 1].end};
  std::vector<Extent> kept;
  if (!head.empty()) kept.push_back(head);
  if (!tail.empty()) kept.push_back(tail);
  const auto at = [this](std::size_t index) { return extents_.begin() + static_cast<std::ptrdiff_t>(index); };
  extents_.insert(extents_.erase(at(first), at(last)), kept.begin(), kept.end());
  bytes_ -= removed;
  return removed;
}

void ExtentSet::subtract(const ExtentSet& other) {
  if (&other == this) {
    clear();
    return;
  }
  for (const Extent extent : other) subtract(extent);
}

bool ExtentSet::covers(Extent extent) const {
  if (extent.empty()) return true;
  const std::size_t index = first_ending_after(extent.begin);
  return index < extents_.size() && extents_[index].contains(extent);
}

bool ExtentSet::intersects(Extent extent) const {
  if (extent.empty()) return false;
  const std::size_t index = first_ending_after(extent.begin);
  return index < extents_.size() && extents_[index].begin < extent.end;
}

ExtentSet ExtentSet::within(Extent extent) const {
  ExtentSet parts;
  if (extent.empty()) return parts;
  for (std::size_t i = first_ending_after(extent.begin); i < extents_.size(); ++i) {
    if (extents_[i].begin >= extent.end) break;
    parts.insert(intersection(extents_[i], extent));
  }
  return parts;
}

ExtentSet ExtentSet::missing(Extent extent) const {
  ExtentSet gaps;
  if (extent.empty()) return gaps;
  std::uint64_t next = extent.begin;
  for (std::size_t i = first_ending_after(extent.begin); i < extents_.size(); ++i) {
    if (extents_[i].begin >= extent.end) break;
    gaps.insert({next, std::max(next, extents_[i].begin)});
    next = extents_[i].end;
  }
  gaps.insert({next, std::max(next, extent.end)});
  return gaps;
}

Extent ExtentSet::hull() const {
  if (extents_.empty()) return {};
  return {extents_.front().begin, extents_.back().end};
}

void ExtentSet::clear() {
  extents_.clear();
  bytes_ = 0;
}

}  // namespace millrace
