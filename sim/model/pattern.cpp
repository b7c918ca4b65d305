// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "pattern.hpp"

#include <cmath>

namespace millrace::model {

namespace {

constexpr std::uint64_t point_bytes = 40;  // five numbers

// [begin, end) of part `index` of `parts` that are as equal as whole numbers can be, the larger ones first.
struct Part {
  std::uint64_t begin, end;
};
Part part(std::uint64_t length, std::uint64_t parts, std::uint64_t index) {
  const std::uint64_t each = length / parts, more = length % parts;
  const std::uint64_t begin = index * each + std::min(index, more);
  return {begin, begin + each + (index < more ? 1 : 0)};
}

}  // namespace

Writes::Writes(const Pattern& pattern, std::uint32_t rank, std::uint32_t ranks)
    : pattern_(pattern),
      rank_(rank),
      ranks_(ranks),
      side_(static_cast<std::uint64_t>(std::lround(std::sqrt(ranks)))),
      outputs_(pattern.kind == PatternKind::ior ? 1 : pattern.outputs) {}

std::uint64_t Writes::file_bytes(const Pattern& pattern, std::uint32_t ranks) {
  if (pattern.kind == PatternKind::ior) return pattern.segments * pattern.block * ranks;
  return pattern.grid * pattern.grid * pattern.grid * point_bytes * pattern.outputs;
}

std::optional<Piece> Writes::next() {
  switch (pattern_.kind) {
    case PatternKind::ior:
      return next_ior();
    case PatternKind::btio_simple:
      return next_row();
    case PatternKind::btio_full:
      return next_share();
  }
  return std::nullopt;
}

void Writes::next_output() {
  ++output_;
  index_ = layer_ = plane_ = row_ = 0;
}

std::optional<Piece> Writes::next_ior() {
  const std::uint64_t in_block = pattern_.block / pattern_.transfer;
  const std::uint64_t segment = index_ / in_block;
  if (segment >= pattern_.segments) return std::nullopt;
  const std::uint64_t at =
      (segment * ranks_ + rank_) * pattern_.block + index_++ % in_block * pattern_.transfer;
  return Piece{at, pattern_.transfer};
}

std::optional<Piece> Writes::next_row() {
  const std::uint64_t grid = pattern_.grid;
  while (layer_ < side_) {
    // From layer to layer, x goes up by one and y goes down by one, as in NPB.
    const Part x = part(grid, side_, (rank_ % side_ + layer_) % side_);
    const Part y = part(grid, side_, (rank_ / side_ + side_ * side_ - layer_) % side_);
    const Part z = part(grid, side_, layer_);
    if (z.begin + plane_ < z.end) {
      const std::uint64_t points = ((output_ * grid + z.begin + plane_) * grid + y.begin + row_) * grid;
      if (y.begin + ++row_ == y.end) {
        row_ = 0;
        ++plane_;
      }
      return Piece{(points + x.begin) * point_bytes, (x.end - x.begin) * point_bytes};
    }
    plane_ = 0;
    ++layer_;
  }
  return std::nullopt;
}

std::optional<Piece> Writes::next_share() {
  if (index_++ > 0) return std::nullopt;
  const std::uint64_t bytes = pattern_.grid * pattern_.grid * pattern_.grid * point_bytes;
  const Part share = part(bytes, ranks_, rank_);
  return Piece{output_ * bytes + share.begin, share.end - share.begin};
}

}  // namespace millrace::model
