// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "base/result.hpp"
#include "client/view/piece.hpp"
#include "client/view/typemap.hpp"
#include "extent/extent.hpp"

namespace millrace::client {

// Walks the bytes of an endless row of elements of one type, in type-map order, piece by piece. Positioning
// takes a time logarithmic in the map's size, a step a few nanoseconds; nothing is allocated. The map must
// be valid, must not be empty, and must outlive the cursor.
class Cursor {
 public:
  // The first element has its origin at `origin`; `position` counts bytes of data from there.
  Cursor(const TypeMap& map, std::int64_t origin, std::uint64_t position);

  std::int64_t offset() const { return at_; }   // where the current byte lies
  std::uint64_t rest() const { return rest_; }  // bytes of the current piece from there on, never 0
  void advance(std::uint64_t bytes) {           // at most rest()
    at_ += static_cast<std::int64_t>(bytes);
    rest_ -= bytes;
    if (rest_ != 0) return;
    if (--passes_ == 0) return next_run();
    piece_ += stride_;
    at_ = piece_;
    rest_ = length_;
  }

 private:
  struct Frame {
    std::int64_t base;   // origin of this sequence
    const Run* run;      // the current run of the sequence
    const Run* last;     // the end of the sequence
    std::uint64_t pass;  // the pass of a loop, or the index of the place in a list
  };

  void seek(std::uint64_t position);
  void enter(const Run& leaf, std::int64_t base, std::uint64_t pass, std::uint64_t skip);
  void enter_list();
  void descend();
  void next_run();

  std::int64_t at_ = 0;
  std::uint64_t rest_ = 0;
  std::int64_t piece_ = 0;    // first byte of the current piece
  std::uint64_t length_ = 0;  // of a piece of the current leaf
  std::int64_t stride_ = 0;
  std::uint64_t passes_ = 0;  // passes left in the leaf, with the current one
  const TypeMap* map_;
  std::uint32_t level_ = 0;
  std::array<Frame, TypeMap::max_depth> frames_;
};

// Bounds of data sieving (sieve.hpp): a part has at most `window` bytes, and no hole in it is larger than
// `gap`.
struct SieveBounds {
  std::uint64_t window = 0;
  std::uint64_t gap = 0;
};

// A process's view of a file, as MPI_File_set_view set it. Cheap to make, to copy and to destroy. Immutable,
// so several threads may read it.
class FileView {
 public:
  FileView();  // bytes from offset 0
  // `filetype` is shared: the user may free the datatype.
  FileView(std::uint64_t displacement, std::uint64_t etype_size, std::shared_ptr<const TypeMap> filetype);

  std::uint64_t displacement() const { return displacement_; }
  std::uint64_t etype_size() const { return etype_size_; }
  const TypeMap& filetype() const { return *filetype_; }

  // True if pieces in ascending order within an element describe any transfer. False for a filetype without
  // data, and for a filetype that breaks the rules of MPI (not monotone, negative). The caller then leaves
  // the file to the MPI library. Elements may interleave (an extent shorter than the data), as PnetCDF's
  // sometimes do.
  bool usable() const { return usable_; }

  // All functions below need a usable view. Positions count bytes of the view's data stream. A caller
  // multiplies a number of etypes by etype_size().

  // Offset in the file of the byte at `position` (MPI_File_get_byte_offset).
  std::uint64_t offset_of(std::uint64_t position) const;
  // Bytes of the stream that lie before `offset` of the file.
  std::uint64_t position_of(std::uint64_t offset) const;
  // An extent that holds the bytes [position, position + bytes) of the stream. It is the smallest one, unless
  // elements interleave.
  Extent hull_of(std::uint64_t position, std::uint64_t bytes) const;
  // True if these bytes are one piece: they fill their hull, in order.
  bool one_piece(std::uint64_t bytes, Extent hull) const { return !interleaved_ && hull.size() == bytes; }
  // The number of pieces of a transfer, good enough for decisions. The number is exact if file or memory is
  // one piece.
  std::uint64_t estimate_pieces(std::uint64_t position, const TypeMap& memory, std::uint64_t count) const;
  // The cost of data sieving for these bytes of the stream, in bytes of the file that are read and rewritten.
  // The step from one part to the next counts as much as a gap that is not swept. The result is good enough
  // for decisions: for a long transfer, the first pieces stand for all.
  std::uint64_t estimate_swept(std::uint64_t position, std::uint64_t bytes, const SieveBounds& sweep) const;

 private:
  std::uint64_t displacement_ = 0;
  std::uint64_t etype_size_ = 1;
  std::shared_ptr<const TypeMap> filetype_;
  bool usable_ = true;
  bool interleaved_ = false;  // the next element begins before the end of this one's data
};

// Pairs `count` elements of `memory` at `buffer` with the view's bytes from `position` on, in type-map order.
// Neighbours that touch on both sides are one piece. The view must be usable and the memory map valid.
class PieceSource {
 public:
  PieceSource(const FileView& view, std::uint64_t position, const TypeMap& memory, const void* buffer,
              std::uint64_t count);

  std::uint64_t bytes_left() const { return left_; }
  // Ends after so many bytes, if not before.
  void limit(std::uint64_t bytes) { left_ = bytes < left_ ? bytes : left_; }
  // Fills `out` from the front. Returns the number of pieces; 0 at the end.
  std::size_t next(std::span<Piece> out);

 private:
  std::uint64_t left_;
  Cursor file_;
  Cursor memory_;
};

inline constexpr std::size_t pieces_per_batch = 64;

// Calls `take(std::span<const Piece>) -> Status` for the whole transfer, batch by batch, until one fails.
template <class Take>
Status for_each_batch(PieceSource& source, Take&& take) {
  std::array<Piece, pieces_per_batch> batch;
  while (const std::size_t n = source.next(batch)) {
    const Status status = take(std::span<const Piece>(batch.data(), n));
    if (!status.ok()) return status;
  }
  return {};
}

}  // namespace millrace::client
