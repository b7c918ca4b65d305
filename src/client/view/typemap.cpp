// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/view/typemap.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "client/view/typemap_builder.hpp"

namespace millrace::client {
namespace {

// Sets the members that follow from runs and bounds together.
TypeMap settled(TypeMap map) {
  map.contiguous = false;
  map.tiled = false;
  if (!map.fits || map.runs.size() != 1 || !map.runs[0].leaf()) return map;
  const Run& run = map.runs[0];
  map.contiguous = run.count == 1 && run.displacement == 0 && map.extent == as_signed(run.length);
  map.tiled = run.count == 1 || run.stride * as_signed(run.count) == map.extent;
  return map;
}

TypeMap with_bounds(TypeMap map, std::int64_t lower, std::int64_t extent) {
  map.lower = lower;
  map.extent = extent;
  return settled(std::move(map));
}

// The map of a type whose places overflow.
TypeMap misfit() {
  TypeMap map;
  map.fits = false;
  return map;
}

class ListedBlocks final : public Blocks {
 public:
  explicit ListedBlocks(std::span<const TypeBlock> left) : count_(left.size()), left_(left) {}
  std::size_t count() const override { return count_; }
  std::size_t next(std::span<TypeBlock> into) override {
    const std::size_t n = std::min(into.size(), left_.size());
    std::ranges::copy(left_.first(n), into.begin());
    left_ = left_.subspan(n);
    return n;
  }

 private:
  std::size_t count_;
  std::span<const TypeBlock> left_;
};

// Adds blocks of elements that have holes between them, or bounds of their own.
class Rows {
 public:
  Rows(TypeMapBuilder& builder, const TypeMap& old) : builder_(builder), old_(old) {
    known_.reserve(most);  // the builder refers to them
  }
  void add(std::int64_t displacement, std::uint64_t length) {
    auto row = std::ranges::find(known_, length, &Row::first);
    if (length > 1 && row == known_.end() && known_.size() < most) {
      known_.emplace_back(length, contiguous(old_, length));
      row = known_.end() - 1;
    }
    if (length == 1 || row == known_.end()) {
      builder_.add_bounded(old_, displacement, length, old_.extent);
    } else {
      builder_.add_bounded(row->second, displacement, 1, 0);
    }
  }

 private:
  using Row = std::pair<std::uint64_t, TypeMap>;
  static constexpr std::size_t most = 16;
  TypeMapBuilder& builder_;
  const TypeMap& old_;
  std::vector<Row> known_;  // one map per block length, if there are few
};

// Blocks of elements of `old`, at displacements in units of `unit` bytes. Equal steps between equal blocks
// become one run, without a look at the inside of `old`.
TypeMap from_blocks(const TypeMap& old, Blocks& blocks, std::int64_t unit) {
  TypeMapBuilder builder;
  Rows rows(builder, old);
  builder.expect(blocks.count());
  const bool plain = old.contiguous && old.lower == 0;
  // The elements of a block touch, or there is no data: the block is one pass per element in any case.
  const bool dense = old.size == 0 || old.extent == as_signed(old.size);
  std::array<TypeBlock, 256> some;
  while (const std::size_t n = blocks.next(some)) {
    const auto now = std::span(some).first(n);
    if (plain) {
      builder.add_contiguous(now, unit, old.size);
      continue;
    }
    for (const TypeBlock& block : now) {
      std::int64_t displacement = 0;
      if (__builtin_mul_overflow(block.displacement, unit, &displacement)) return misfit();
      if (dense) {
        builder.add_bounded(old, displacement, block.length, old.extent);
      } else if (block.length > 0) {
        rows.add(displacement, block.length);
      }
    }
  }
  return settled(builder.finish());
}

}  // namespace

TypeMap contiguous_type(std::uint64_t size) {
  TypeMap map;
  map.size = size;
  map.extent = as_signed(size);
  map.true_upper = as_signed(size);
  if (size > 0) {
    map.runs.push_back({0, size, 1, 0, 0, 0, 0});
    map.pieces = 1;
    map.depth = 1;
  }
  return settled(std::move(map));
}

TypeMap contiguous(const TypeMap& old, std::uint64_t count) { return hvector(old, 1, count, 0); }

TypeMap hvector(const TypeMap& old, std::uint64_t count, std::uint64_t block_length, std::int64_t stride) {
  TypeMapBuilder row;
  if (count > 0) row.add_bounded(old, 0, block_length, old.extent);
  TypeMap block = settled(row.finish());
  if (count <= 1 || block_length == 0) return block;
  TypeMapBuilder builder;
  builder.add_bounded(block, 0, count, stride);
  return settled(builder.finish());
}

TypeMap vector(const TypeMap& old, std::uint64_t count, std::uint64_t block_length, std::int64_t stride) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(stride, old.extent, &bytes)) return misfit();
  return hvector(old, count, block_length, bytes);
}

TypeMap hindexed(const TypeMap& old, Blocks& blocks) { return from_blocks(old, blocks, 1); }

TypeMap hindexed(const TypeMap& old, std::span<const TypeBlock> blocks) {
  ListedBlocks listed(blocks);
  return hindexed(old, listed);
}

TypeMap indexed(const TypeMap& old, Blocks& blocks) { return from_blocks(old, blocks, old.extent); }

TypeMap indexed(const TypeMap& old, std::span<const TypeBlock> blocks) {
  ListedBlocks listed(blocks);
  return indexed(old, listed);
}

TypeMap structure(std::span<const StructMember> members) {
  TypeMapBuilder builder;
  for (const StructMember& member : members)
    builder.add_bounded(*member.map, member.displacement, member.length, member.map->extent);
  return settled(builder.finish());
}

TypeMap subarray(const TypeMap& old, std::span<const SubarrayDimension> dimensions, Order order) {
  TypeMap map = old;
  std::int64_t extent = old.extent;
  const std::size_t n = dimensions.size();
  for (std::size_t i = 0; i < n; ++i) {
    const SubarrayDimension& dimension = dimensions[order == Order::fortran ? i : n - 1 - i];
    TypeMapBuilder builder;
    builder.add(map, builder.times(extent, static_cast<std::uint64_t>(dimension.start)),
                static_cast<std::uint64_t>(dimension.subsize), extent);
    extent = builder.times(extent, static_cast<std::uint64_t>(dimension.size));
    map = with_bounds(builder.finish(), 0, extent);
  }
  return map;
}

TypeMap darray(const TypeMap& old, std::int64_t rank, std::span<const DarrayDimension> dimensions,
               Order order) {
  const std::size_t n = dimensions.size();
  std::vector<std::int64_t> coordinates(n);  // of the process; always row-major, even in a Fortran array
  for (std::size_t i = n; i-- > 0;) {
    coordinates[i] = rank % dimensions[i].processes;
    rank /= dimensions[i].processes;
  }
  TypeMap map = old;
  std::int64_t extent = old.extent;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t d = order == Order::fortran ? i : n - 1 - i;
    const DarrayDimension& dimension = dimensions[d];
    // Without a distribution, the whole dimension is one block. BLOCK is CYCLIC with large enough blocks.
    std::int64_t block = dimension.argument;
    std::int64_t processes = dimension.processes;
    if (dimension.distribution == Distribution::none) {
      block = dimension.size;
      processes = 1;
    } else if (block <= 0) {
      block =
          dimension.distribution == Distribution::block ? (dimension.size + processes - 1) / processes : 1;
    }
    block = std::max<std::int64_t>(block, 1);
    const std::int64_t start = (processes == 1 ? 0 : coordinates[d]) * block;
    const std::int64_t cycle = block * processes;
    const std::int64_t left = std::max<std::int64_t>(dimension.size - start, 0);
    const std::int64_t full = left / cycle + (left % cycle >= block ? 1 : 0);
    const std::int64_t partial = left % cycle >= block ? 0 : left % cycle;
    TypeMapBuilder row;
    row.add(map, 0, static_cast<std::uint64_t>(block), extent);
    const TypeMap one = row.finish();
    TypeMapBuilder builder;
    builder.add(one, builder.times(extent, static_cast<std::uint64_t>(start)),
                static_cast<std::uint64_t>(full), builder.times(extent, static_cast<std::uint64_t>(cycle)));
    builder.add(map, builder.times(extent, static_cast<std::uint64_t>(start + full * cycle)),
                static_cast<std::uint64_t>(partial), extent);
    extent = builder.times(extent, static_cast<std::uint64_t>(dimension.size));
    map = with_bounds(builder.finish(), 0, extent);
  }
  return map;
}

TypeMap resized(TypeMap old, std::int64_t lower, std::int64_t extent) {
  return with_bounds(std::move(old), lower, extent);
}

}  // namespace millrace::client
