// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/typemap.hpp"

#include <algorithm>
#include <utility>

#include "client/typemap_builder.hpp"

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

// Blocks of elements of `old` at byte displacements. Equal steps between equal blocks become one run, without
// a look at the inside of `old`.
TypeMap from_blocks(const TypeMap& old, std::span<const Block> blocks, std::int64_t unit) {
  TypeMapBuilder builder;
  builder.expect(blocks.size());
  if (old.contiguous && old.lower == 0) {
    builder.add_contiguous(blocks, unit, old.size);
    return settled(builder.finish());
  }
  if (old.size == 0 || old.extent == as_signed(old.size)) {
    // The elements of a block touch, or there is no data: the block is one pass per element in any case.
    for (const Block& block : blocks)
      builder.add_bounded(old, builder.times(block.displacement, static_cast<std::uint64_t>(unit)),
                          block.length, old.extent);
    return settled(builder.finish());
  }
  std::vector<std::pair<std::uint64_t, TypeMap>> rows;  // one map per block length, if there are few
  constexpr std::size_t most_rows = 16;
  rows.reserve(most_rows);
  for (const Block& block : blocks) {
    if (block.length == 0) continue;
    const std::int64_t displacement =
        unit == 1 ? block.displacement : builder.times(block.displacement, static_cast<std::uint64_t>(unit));
    auto row = std::find_if(rows.begin(), rows.end(), [&](auto& r) { return r.first == block.length; });
    if (block.length > 1 && row == rows.end() && rows.size() < most_rows) {
      rows.emplace_back(block.length, contiguous(old, block.length));
      row = rows.end() - 1;
    }
    if (block.length == 1 || row == rows.end()) {
      builder.add_bounded(old, displacement, block.length, old.extent);
    } else {
      builder.add_bounded(row->second, displacement, 1, 0);
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

TypeMap hindexed(const TypeMap& old, std::span<const Block> blocks) { return from_blocks(old, blocks, 1); }

TypeMap indexed(const TypeMap& old, std::span<const Block> blocks) {
  if (old.extent >= 0) return from_blocks(old, blocks, old.extent);
  std::vector<Block> bytes(blocks.begin(), blocks.end());
  for (Block& block : bytes) {
    if (__builtin_mul_overflow(block.displacement, old.extent, &block.displacement)) return misfit();
  }
  return from_blocks(old, bytes, 1);
}

TypeMap structure(std::span<const Member> members) {
  TypeMapBuilder builder;
  for (const Member& member : members)
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
