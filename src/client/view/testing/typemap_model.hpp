// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "client/view/typemap.hpp"

// For tests: datatypes that are expanded byte by byte by the formulas of the standard, and random types. A
// random type is built in both forms at once.
namespace millrace::client::model {

struct Naive {
  std::vector<std::int64_t> bytes;  // displacement of every byte of data, in type-map order
  std::int64_t lower = 0;
  std::int64_t upper = 0;
  bool bounded = false;

  std::int64_t extent() const { return upper - lower; }

  void add(const Naive& old, std::int64_t displacement) {
    for (const std::int64_t byte : old.bytes) bytes.push_back(byte + displacement);
    const std::int64_t low = old.lower + displacement;
    const std::int64_t high = old.upper + displacement;
    lower = bounded ? std::min(lower, low) : low;
    upper = bounded ? std::max(upper, high) : high;
    bounded = true;
  }
  void add_block(const Naive& old, std::int64_t displacement, std::uint64_t length) {
    for (std::uint64_t i = 0; i < length; ++i)
      add(old, displacement + static_cast<std::int64_t>(i) * old.extent());
  }
};

struct Pair {
  Naive naive;
  TypeMap map;
};

inline Naive naive_contiguous_type(std::uint64_t size) {
  Naive naive;
  for (std::uint64_t i = 0; i < size; ++i) naive.bytes.push_back(static_cast<std::int64_t>(i));
  naive.upper = static_cast<std::int64_t>(size);
  naive.bounded = true;
  return naive;
}

class Generator {
 public:
  // `lists`: indexed types may have many blocks without a pattern.
  explicit Generator(std::uint64_t seed, bool lists = false) : random_(seed), lists_(lists) {}

  std::int64_t range(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }

  // Makes a random type. With `file`, the type may be a filetype (ascending, without overlaps, not
  // interleaving).
  Pair make(int depth, bool file) {
    if (depth == 0 || range(0, 9) == 0) {
      static constexpr std::uint64_t sizes[] = {1, 2, 4, 8, 16};
      const std::uint64_t size = sizes[range(0, 4)];
      return {naive_contiguous_type(size), contiguous_type(size)};
    }
    Pair old = make(depth - 1, file);
    if (old.naive.bytes.size() > (lists_ ? 3000 : 400)) return old;
    switch (range(0, 7)) {
      case 0:
        return contiguous_of(old);
      case 1:
        return vector_of(old, file);
      case 2:
        return indexed_of(old, file, false);
      case 3:
        return indexed_of(old, file, true);
      case 4:
        return structure_of(old, depth, file);
      case 5:
        return subarray_of(old);
      case 6:
        return darray_of(old);
      default:
        return resized_of(old, file);
    }
  }

 private:
  Pair contiguous_of(const Pair& old) {
    const auto count = static_cast<std::uint64_t>(range(0, 4));
    Pair out{{}, contiguous(old.map, count)};
    out.naive.add_block(old.naive, 0, count);
    return out;
  }

  Pair vector_of(const Pair& old, bool file) {
    const auto count = static_cast<std::uint64_t>(range(file ? 1 : 0, 4));
    const auto block = static_cast<std::uint64_t>(range(file ? 1 : 0, 3));
    const auto span = static_cast<std::int64_t>(block);
    const bool bytes = range(0, 1) == 1;
    const std::int64_t unit = old.naive.extent();
    std::int64_t stride = file ? range(span, span + 3) : range(-5, 5);
    Pair out;
    if (bytes) {
      stride = stride * unit + (file ? range(0, 3) : range(-3, 3));
      out.map = hvector(old.map, count, block, stride);
    } else {
      out.map = vector(old.map, count, block, stride);
      stride *= unit;
    }
    for (std::uint64_t i = 0; i < count; ++i)
      out.naive.add_block(old.naive, static_cast<std::int64_t>(i) * stride, block);
    return out;
  }

  Pair indexed_of(const Pair& old, bool file, bool bytes) {
    std::vector<TypeBlock> blocks;
    const std::int64_t unit = bytes ? 1 : old.naive.extent();
    const bool many = lists_ && old.naive.bytes.size() <= 16;
    const std::int64_t count = many ? range(30, 150) : range(file ? 1 : 0, 5);
    const bool same = range(0, 2) == 0;
    std::int64_t next = range(0, 3);
    Pair out;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t length = same ? 2 : range(file && i == 0 ? 1 : 0, 3);
      TypeBlock block{file ? next : range(-20, 20), static_cast<std::uint64_t>(length)};
      blocks.push_back(block);
      next += length * (bytes ? old.naive.extent() : 1) + (same ? 1 : range(0, 2));
      out.naive.add_block(old.naive, block.displacement * unit, block.length);
    }
    out.map = bytes ? hindexed(old.map, blocks) : indexed(old.map, blocks);
    return out;
  }

  Pair structure_of(const Pair& old, int depth, bool file) {
    const Pair other = make(depth - 1, file);
    std::vector<StructMember> members;
    Pair out;
    std::int64_t next = 0;
    const std::int64_t count = range(1, 4);
    for (std::int64_t i = 0; i < count; ++i) {
      const Pair& from = range(0, 1) == 0 ? old : other;
      const auto length = static_cast<std::uint64_t>(range(file ? 1 : 0, 2));
      // In a file type the member's data must come after the existing data; its lower bound may differ from
      // its first byte.
      std::int64_t at = file ? next - from.naive.lower + range(0, 5) : range(-30, 30);
      members.push_back({at, length, &from.map});
      next = at + from.naive.lower + static_cast<std::int64_t>(length) * from.naive.extent();
      out.naive.add_block(from.naive, at, length);
    }
    out.map = structure(members);
    return out;
  }

  Pair subarray_of(const Pair& old) {
    std::vector<SubarrayDimension> dimensions;
    const std::int64_t n = range(1, 3);
    for (std::int64_t d = 0; d < n; ++d) {
      SubarrayDimension dimension{};
      dimension.size = range(1, 4);
      dimension.subsize = range(1, dimension.size);
      dimension.start = range(0, dimension.size - dimension.subsize);
      dimensions.push_back(dimension);
    }
    const Order order = range(0, 1) == 0 ? Order::c : Order::fortran;
    Pair out{{}, subarray(old.map, dimensions, order)};
    each_index(dimensions, order, [&](const std::vector<std::int64_t>& index, std::int64_t linear) {
      for (std::size_t d = 0; d < dimensions.size(); ++d)
        if (index[d] < dimensions[d].start || index[d] >= dimensions[d].start + dimensions[d].subsize) return;
      out.naive.add(old.naive, linear * old.naive.extent());
    });
    bound_array(out, old, dimensions);
    return out;
  }

  Pair darray_of(const Pair& old) {
    std::vector<DarrayDimension> dimensions;
    std::vector<SubarrayDimension> shape;
    const std::int64_t n = range(1, 3);
    std::int64_t processes = 1;
    for (std::int64_t d = 0; d < n; ++d) {
      DarrayDimension dimension{};
      dimension.size = range(1, 6);
      dimension.distribution = static_cast<Distribution>(range(0, 2));
      dimension.processes = dimension.distribution == Distribution::none ? 1 : range(1, 3);
      if (dimension.distribution == Distribution::block && range(0, 1) == 1)
        dimension.argument = (dimension.size + dimension.processes - 1) / dimension.processes + range(0, 1);
      if (dimension.distribution == Distribution::cyclic) dimension.argument = range(0, 3);
      processes *= dimension.processes;
      dimensions.push_back(dimension);
      shape.push_back({dimension.size, 0, 0});
    }
    const std::int64_t rank = range(0, processes - 1);
    const Order order = range(0, 1) == 0 ? Order::c : Order::fortran;
    Pair out{{}, darray(old.map, rank, dimensions, order)};
    std::vector<std::int64_t> mine(dimensions.size());
    std::int64_t rest = rank;
    for (std::size_t d = dimensions.size(); d-- > 0;) {
      mine[d] = rest % dimensions[d].processes;
      rest /= dimensions[d].processes;
    }
    each_index(shape, order, [&](const std::vector<std::int64_t>& index, std::int64_t linear) {
      for (std::size_t d = 0; d < dimensions.size(); ++d)
        if (owner(dimensions[d], index[d]) != mine[d]) return;
      out.naive.add(old.naive, linear * old.naive.extent());
    });
    bound_array(out, old, shape);
    return out;
  }

  Pair resized_of(const Pair& old, bool file) {
    std::int64_t lower = range(-10, 10);
    std::int64_t extent = range(0, 60);
    if (file && !old.naive.bytes.empty()) {
      const auto [low, high] = std::minmax_element(old.naive.bytes.begin(), old.naive.bytes.end());
      lower = *low - range(0, 4);
      extent = *high + 1 - lower + range(0, 8);
    }
    Pair out{old.naive, resized(old.map, lower, extent)};
    out.naive.lower = lower;
    out.naive.upper = lower + extent;
    out.naive.bounded = true;
    return out;
  }

  static std::int64_t owner(const DarrayDimension& dimension, std::int64_t index) {
    switch (dimension.distribution) {
      case Distribution::none:
        return 0;
      case Distribution::block: {
        const std::int64_t block = dimension.argument > 0
                                       ? dimension.argument
                                       : (dimension.size + dimension.processes - 1) / dimension.processes;
        return index / block;
      }
      case Distribution::cyclic:
        break;
    }
    const std::int64_t block = dimension.argument > 0 ? dimension.argument : 1;
    return index / block % dimension.processes;
  }

  // All indices of an array in the order of its elements in memory.
  template <class Visit>
  static void each_index(const std::vector<SubarrayDimension>& shape, Order order, Visit visit) {
    std::vector<std::int64_t> index(shape.size(), 0);
    for (std::int64_t linear = 0;; ++linear) {
      visit(index, linear);
      std::size_t step = 0;
      for (; step < shape.size(); ++step) {
        const std::size_t d = order == Order::fortran ? step : shape.size() - 1 - step;
        if (++index[d] < shape[d].size) break;
        index[d] = 0;
      }
      if (step == shape.size()) return;
    }
  }

  static void bound_array(Pair& out, const Pair& old, const std::vector<SubarrayDimension>& shape) {
    std::int64_t elements = 1;
    for (const SubarrayDimension& dimension : shape) elements *= dimension.size;
    out.naive.lower = 0;
    out.naive.upper = elements * old.naive.extent();
    out.naive.bounded = true;
  }

  std::mt19937_64 random_;
  bool lists_;
};

}  // namespace millrace::client::model
