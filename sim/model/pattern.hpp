// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

// The writes of ranks to the shared file, in their order.
namespace millrace::model {

// Bytes [offset, offset + bytes) of the file.
struct Piece {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  bool more = false;  // of one call, which a client without a sort buffer does not interrupt
  std::uint64_t end() const { return offset + bytes; }
};

enum class PatternKind : std::uint8_t {
  ior,          // `segments` of one block per rank, each written in transfers
  btio_simple,  // each row of each cell of NPB's BT, a call each
  btio_full,    // collective calls: each rank writes one contiguous share of an output
};

struct Pattern {
  PatternKind kind = PatternKind::ior;
  std::uint64_t transfer = 0;  // ior
  std::uint64_t block = 0;
  std::uint64_t segments = 0;
  std::uint64_t grid = 0;  // btio: points on an edge, of 40 bytes each
  std::uint64_t outputs = 0;
};

// The writes of one rank. BT's ranks are p x p; each has p cells, one in each layer of the cube, shifted from
// layer to layer (NPB's multi-partition scheme).
class Writes {
 public:
  Writes(const Pattern& pattern, std::uint32_t rank, std::uint32_t ranks);

  // The next write of this output (ior has one output); none: the output is complete.
  std::optional<Piece> next();
  void next_output();
  bool over() const { return output_ >= outputs_; }

  static std::uint64_t file_bytes(const Pattern& pattern, std::uint32_t ranks);

 private:
  std::optional<Piece> next_ior();
  std::optional<Piece> next_row();
  std::optional<Piece> next_share();

  const Pattern& pattern_;
  std::uint64_t rank_;
  std::uint64_t ranks_;
  std::uint64_t side_;  // p
  std::uint64_t outputs_;
  std::uint64_t output_ = 0;
  std::uint64_t index_ = 0;  // of the next write in this output
  // For btio_simple: the present cell, and the place in it.
  std::uint64_t layer_ = 0, plane_ = 0, row_ = 0;
};

}  // namespace millrace::model
