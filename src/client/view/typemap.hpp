// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace millrace::client {

// A run is a row of `count` passes. The first pass begins at `displacement` from the origin of the run's
// sequence, and each further pass begins `stride` bytes later. A pass of a leaf is one piece of `length`
// bytes. A pass of a loop is the sequence [first, last) of the map's runs, with `length` bytes of data in
// all. A run with count 0 is a list: its pieces are the map's places [first, last), with `length` bytes in
// all. Passes are in type-map order, which need not be address order in memory types.
//
//    displacement
//        |<length>|.......|<length>|.......|<length>|
//        |<--- stride --->|
//
struct Run {
  std::int64_t displacement = 0;
  std::uint64_t length = 0;
  std::uint64_t count = 1;
  std::int64_t stride = 0;
  std::uint64_t before = 0;  // bytes of data of the sequence that come before this run
  std::uint32_t first = 0;   // body of a loop, or places of a list; first == last: a leaf
  std::uint32_t last = 0;

  bool leaf() const { return first == last; }
  bool list() const { return count == 0; }
  std::uint64_t bytes() const { return list() ? length : length * count; }
  friend bool operator==(const Run&, const Run&) = default;
};

// A piece of a list. Its length is the distance from its `before` to the next piece's `before`.
struct ListedPiece {
  std::int64_t displacement = 0;  // from the list's displacement
  std::uint64_t before = 0;       // bytes of the list before this piece
  friend bool operator==(const ListedPiece&, const ListedPiece&) = default;
};

// A flattened MPI datatype, in memory or in a file: a nest of strided runs. The size of a map follows the
// type's description and not its number of pieces: a vector of a million structs is two runs, and so is a
// brick of 512^3. Pieces without a pattern take 16 bytes each. Several loops may share a body. A map is
// immutable once built, and shared by pointer.
struct TypeMap {
  // A walk over a deeper nest would need allocation. So valid() is false for such a type, and the caller does
  // without a map.
  static constexpr std::uint32_t max_depth = 24;

  std::vector<Run> runs;            // bodies first, then the outermost sequence from `root` on
  std::vector<ListedPiece> places;  // of all lists
  std::uint32_t root = 0;
  std::uint32_t depth = 0;      // levels of sequences; 0 for an empty type
  std::uint64_t size = 0;       // bytes of data in one element
  std::uint64_t pieces = 0;     // of one element; an upper bound where pieces of different runs touch
  std::int64_t lower = 0;       // lower bound
  std::int64_t extent = 0;      // distance from one element to the next
  std::int64_t true_lower = 0;  // first byte of data
  std::int64_t true_upper = 0;  // end of the last byte of data
  bool contiguous = false;      // one piece at displacement 0 with length == extent == size
  bool tiled = false;           // one leaf whose stride is the same into the next element
  bool monotone = true;         // the pieces of one element are in address order and do not overlap
  bool fits = true;             // depth, size and number of runs are within bounds

  // Some MPI libraries put bytes elsewhere than the standard says. Code that knows the libraries lists the
  // positions of such data here. The list ends after most_doubts + 1 positions.
  static constexpr std::size_t most_doubts = 1024;
  std::vector<std::uint64_t> doubts;
  bool disputed = false;  // some libraries put bytes elsewhere at unknown positions

  bool valid() const { return fits; }
  // True if all MPI libraries place the bytes as the standard says.
  bool agreed() const { return doubts.empty() && !disputed; }
};

// A block of an indexed type: `length` elements at `displacement` (bytes, or extents of the old type).
struct TypeBlock {
  std::int64_t displacement;
  std::uint64_t length;
};

// The blocks of a type, in their order. There may be millions, so they are made when they are needed.
class Blocks {
 public:
  virtual ~Blocks() = default;
  virtual std::size_t count() const = 0;
  // Fills `into` with the next blocks. Returns how many; 0: there are no more.
  virtual std::size_t next(std::span<TypeBlock> into) = 0;
};

// A member of a struct type.
struct StructMember {
  std::int64_t displacement;  // bytes
  std::uint64_t length;       // elements
  const TypeMap* map;
};

enum class Order { c, fortran };
enum class Distribution { none, block, cyclic };

// One dimension of a distributed array. `argument` 0 stands for MPI_DISTRIBUTE_DFLT_DARG.
struct DarrayDimension {
  std::int64_t size;
  Distribution distribution;
  std::int64_t argument;
  std::int64_t processes;
};

// One dimension of a subarray.
struct SubarrayDimension {
  std::int64_t size;
  std::int64_t subsize;
  std::int64_t start;
};

// The constructors of MPI 4.0, chapter 5, as pure functions. Strides and displacements are bytes where the
// name begins with h, extents of `old` otherwise. structure() adds no padding for alignment (the "epsilon" of
// the standard): a caller that knows the alignment applies resized().
TypeMap contiguous_type(std::uint64_t size);  // `size` bytes without a hole
TypeMap contiguous(const TypeMap& old, std::uint64_t count);
TypeMap hvector(const TypeMap& old, std::uint64_t count, std::uint64_t block_length, std::int64_t stride);
TypeMap vector(const TypeMap& old, std::uint64_t count, std::uint64_t block_length, std::int64_t stride);
TypeMap hindexed(const TypeMap& old, Blocks& blocks);
TypeMap hindexed(const TypeMap& old, std::span<const TypeBlock> blocks);
TypeMap indexed(const TypeMap& old, Blocks& blocks);
TypeMap indexed(const TypeMap& old, std::span<const TypeBlock> blocks);
TypeMap structure(std::span<const StructMember> members);
TypeMap subarray(const TypeMap& old, std::span<const SubarrayDimension> dimensions, Order order);
TypeMap darray(const TypeMap& old, std::int64_t rank, std::span<const DarrayDimension> dimensions,
               Order order);
TypeMap resized(TypeMap old, std::int64_t lower, std::int64_t extent);

// Displacements are signed and positions are not.
inline std::int64_t as_signed(std::uint64_t value) { return static_cast<std::int64_t>(value); }
inline std::uint64_t as_unsigned(std::int64_t value) { return static_cast<std::uint64_t>(value); }

}  // namespace millrace::client
