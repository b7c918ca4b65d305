// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "agent/requests/sender.hpp"
#include "base/result.hpp"
#include "extent/extent.hpp"

namespace millrace::agent {

// One extent of a list, and the position of its first byte in the list's data.
struct ReadPiece {
  std::uint64_t offset;
  std::uint32_t length;
  std::uint32_t position;
};

// The extents that a sender wants to read through one lane, in the order of the file, and how many of their
// bytes it has got. A list of several lanes has one ReadList in each of them. Not thread safe.
class ReadList {
 public:
  ReadList(SenderId sender, std::uint32_t request, std::vector<ReadPiece> pieces)
      : sender_(sender), request_(request), pieces_(std::move(pieces)) {}

  SenderId sender() const { return sender_; }
  std::uint32_t request() const { return request_; }
  bool over() const { return index_ == pieces_.size(); }
  // The offset of the next byte, in a list that is not over().
  std::uint64_t next() const { return pieces_[index_].offset + passed_; }
  // ... and its position in the list's data.
  std::uint32_t position() const { return pieces_[index_].position + passed_; }
  // An extent that holds all pieces.
  Extent hull() const { return {pieces_.front().offset, pieces_.back().offset + pieces_.back().length}; }

  // Calls visit(Extent) for the rest of each piece that begins below `end`, in order, until one returns
  // false.
  template <class Visit>
  void each_below(std::uint64_t end, Visit&& visit) const {
    std::uint32_t passed = passed_;
    for (std::size_t i = index_; i < pieces_.size() && pieces_[i].offset + passed < end; ++i) {
      if (!visit(Extent{pieces_[i].offset + passed, pieces_[i].offset + pieces_[i].length})) return;
      passed = 0;
    }
  }

  // Copies the next bytes of the list to `into`, as far as they lie in `extent`, which holds next(); `data`
  // are the bytes of the extent. As much as there is room, and only while their positions follow each other.
  // Returns how many.
  std::size_t gather(Extent extent, const std::byte* data, std::span<std::byte> into);

 private:
  SenderId sender_;
  std::uint32_t request_;
  std::vector<ReadPiece> pieces_;
  std::size_t index_ = 0;     // of the piece with the next byte
  std::uint32_t passed_ = 0;  // bytes of it that the sender has got
};

}  // namespace millrace::agent
