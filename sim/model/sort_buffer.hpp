// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iterator>
#include <map>

#include "pattern.hpp"

namespace millrace::model {

// The paper's sort buffer: blocks of `record_max` bytes with one record in each, however short it is. With
// merging, a record joins its neighbours in the file while the sum fits into a block.
class SortBuffer {
 public:
  SortBuffer(std::uint64_t bytes, std::uint64_t record_max, bool merge)
      : blocks_(bytes / record_max), record_max_(record_max), merge_(merge) {}

  bool empty() const { return records_.empty(); }
  bool full() const { return records_.size() >= blocks_; }
  Piece least() const { return {records_.begin()->first, records_.begin()->second}; }

  Piece take_least() {
    const Piece found = least();
    records_.erase(records_.begin());
    return found;
  }

  void insert(const Piece& piece) {
    auto next = records_.lower_bound(piece.offset);
    auto joined = records_.end();
    if (merge_ && next != records_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == piece.offset && before->second + piece.bytes <= record_max_) {
        before->second += piece.bytes;
        joined = before;
      }
    }
    if (joined == records_.end()) joined = records_.emplace_hint(next, piece.offset, piece.bytes);
    if (!merge_ || next == records_.end()) return;
    if (joined->first + joined->second == next->first && joined->second + next->second <= record_max_) {
      joined->second += next->second;
      records_.erase(next);
    }
  }

 private:
  std::uint64_t blocks_;
  std::uint64_t record_max_;
  bool merge_;
  std::map<std::uint64_t, std::uint64_t> records_;  // offset -> bytes
};

}  // namespace millrace::model
