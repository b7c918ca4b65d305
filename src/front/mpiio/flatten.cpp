// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/flatten.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "front/mpiio/contents.hpp"

namespace millrace::front {
namespace {

using client::Block;
using client::Distribution;
using client::Member;
using client::Order;
using client::Placement;
using client::TypeMap;

using Maps = std::vector<std::shared_ptr<const TypeMap>>;

constexpr int deepest_recursion = 200;

TypeMap no_map() {
  TypeMap map;
  map.fits = false;
  return map;
}

std::uint64_t as_unsigned(std::int64_t value) { return static_cast<std::uint64_t>(value); }

// A value and an int behind it, laid out as C does: the types of MPI_MINLOC and MPI_MAXLOC.
template <class Value>
TypeMap pair_map() {
  struct Layout {
    Value value;
    int index;
  };
  const TypeMap value = client::contiguous_type(sizeof(Value));
  const TypeMap index = client::contiguous_type(sizeof(int));
  const Member members[] = {{offsetof(Layout, value), 1, &value}, {offsetof(Layout, index), 1, &index}};
  return client::structure(members);
}

TypeMap predefined_map(MPI_Datatype type) {
  MPI_Count size = 0;
  MPI_Count lower = 0;
  MPI_Count extent = 0;
  if (PMPI_Type_size_x(type, &size) != MPI_SUCCESS || size < 0) return no_map();
  if (PMPI_Type_get_extent_x(type, &lower, &extent) != MPI_SUCCESS) return no_map();
  if (type == MPI_FLOAT_INT) return pair_map<float>();
  if (type == MPI_DOUBLE_INT) return pair_map<double>();
  if (type == MPI_LONG_INT) return pair_map<long>();
  if (type == MPI_SHORT_INT) return pair_map<short>();
  if (type == MPI_LONG_DOUBLE_INT) return pair_map<long double>();
  if (size != extent || lower != 0) return no_map();
  return client::contiguous_type(as_unsigned(size));
}

std::vector<Block> blocks_of(const std::vector<std::int64_t>& lengths,
                             const std::vector<std::int64_t>& displacements) {
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < lengths.size() && i < displacements.size(); ++i)
    blocks.push_back({displacements[i], as_unsigned(lengths[i])});
  return blocks;
}

TypeMap indexed_map(Contents& contents, const TypeMap& old, bool bytes) {
  const std::int64_t count = contents.count();
  const auto lengths = contents.list_of_counts(count);
  if (std::ranges::count(lengths, 0) != 0) contents.note_empty_block();
  const auto displacements = bytes ? contents.list_of_addresses(count) : contents.list_of_counts(count);
  const auto blocks = blocks_of(lengths, displacements);
  return bytes ? client::hindexed(old, blocks) : client::indexed(old, blocks);
}

TypeMap indexed_block_map(Contents& contents, const TypeMap& old, bool bytes) {
  const std::int64_t count = contents.count();
  const std::int64_t length = contents.count();
  const auto displacements = bytes ? contents.list_of_addresses(count) : contents.list_of_counts(count);
  const auto blocks = blocks_of(std::vector<std::int64_t>(displacements.size(), length), displacements);
  return bytes ? client::hindexed(old, blocks) : client::indexed(old, blocks);
}

TypeMap vector_map(Contents& contents, const TypeMap& old, bool bytes) {
  const std::uint64_t count = as_unsigned(contents.count());
  const std::uint64_t length = as_unsigned(contents.count());
  const std::int64_t stride = bytes ? contents.address() : contents.count();
  return bytes ? client::hvector(old, count, length, stride) : client::vector(old, count, length, stride);
}

TypeMap struct_map(Contents& contents, const Maps& maps) {
  const std::int64_t count = contents.count();
  const auto lengths = contents.list_of_counts(count);
  const auto displacements = contents.list_of_addresses(count);
  std::vector<Member> members;
  for (std::size_t i = 0; i < lengths.size() && i < displacements.size() && i < maps.size(); ++i)
    members.push_back({displacements[i], as_unsigned(lengths[i]), maps[i].get()});
  return client::structure(members);
}

Order order_of(std::int64_t order) { return order == MPI_ORDER_FORTRAN ? Order::fortran : Order::c; }

TypeMap subarray_map(Contents& contents, const TypeMap& old) {
  const std::int64_t n = contents.integer();
  const auto sizes = contents.list_of_counts(n);
  const auto subsizes = contents.list_of_counts(n);
  const auto starts = contents.list_of_counts(n);
  const Order order = order_of(contents.integer());
  if (!contents.complete()) return no_map();
  std::vector<client::SubarrayDimension> dimensions;
  for (std::size_t d = 0; d < sizes.size(); ++d) dimensions.push_back({sizes[d], subsizes[d], starts[d]});
  return client::subarray(old, dimensions, order);
}

TypeMap darray_map(Contents& contents, const TypeMap& old) {
  contents.integer();  // number of processes
  const std::int64_t rank = contents.integer();
  const std::int64_t n = contents.integer();
  const auto sizes = contents.list_of_counts(n);
  std::vector<std::int64_t> distributions, arguments, processes;
  for (auto* list : {&distributions, &arguments, &processes})
    for (std::int64_t d = 0; d < n; ++d) list->push_back(contents.integer());
  const Order order = order_of(contents.integer());
  if (!contents.complete()) return no_map();
  std::vector<client::DarrayDimension> dimensions;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    const Distribution distribution = distributions[d] == MPI_DISTRIBUTE_BLOCK    ? Distribution::block
                                      : distributions[d] == MPI_DISTRIBUTE_CYCLIC ? Distribution::cyclic
                                                                                  : Distribution::none;
    const std::int64_t argument = arguments[d] == MPI_DISTRIBUTE_DFLT_DARG ? 0 : arguments[d];
    dimensions.push_back({sizes[d], distribution, argument, processes[d]});
  }
  return client::darray(old, rank, dimensions, order);
}

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
// Value and index as members of a C struct: each aligned to its size, as far as the extents agree later.
TypeMap value_index_map(const Maps& maps) {
  if (maps.size() != 2 || maps[1]->size == 0) return no_map();
  const std::int64_t align = static_cast<std::int64_t>(maps[1]->size);
  const std::int64_t at = (maps[0]->extent + align - 1) / align * align;
  const Member members[] = {{0, 1, maps[0].get()}, {at, 1, maps[1].get()}};
  return client::structure(members);
}
#endif

TypeMap derived_map(Contents& contents, const Maps& maps) {
  const TypeMap& old = *maps[0];
  switch (contents.combiner()) {
    case MPI_COMBINER_DUP:
      return old;
    case MPI_COMBINER_CONTIGUOUS:
      return client::contiguous(old, as_unsigned(contents.count()));
    case MPI_COMBINER_VECTOR:
      return vector_map(contents, old, false);
    case MPI_COMBINER_HVECTOR:
      return vector_map(contents, old, true);
    case MPI_COMBINER_INDEXED:
      return indexed_map(contents, old, false);
    case MPI_COMBINER_HINDEXED:
      return indexed_map(contents, old, true);
    case MPI_COMBINER_INDEXED_BLOCK:
      return indexed_block_map(contents, old, false);
    case MPI_COMBINER_HINDEXED_BLOCK:
      return indexed_block_map(contents, old, true);
    case MPI_COMBINER_STRUCT:
      return struct_map(contents, maps);
    case MPI_COMBINER_SUBARRAY:
      return subarray_map(contents, old);
    case MPI_COMBINER_DARRAY:
      return darray_map(contents, old);
    case MPI_COMBINER_RESIZED: {
      const std::int64_t lower = contents.address();
      return client::resized(old, lower, contents.address());
    }
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
    case MPI_COMBINER_VALUE_INDEX:
      return value_index_map(maps);
#endif
    default:
      return no_map();
  }
}

// The MPI library knows alignment and has the last word on bounds; where it contradicts the data itself,
// there is no map rather than a wrong one.
bool agrees(MPI_Datatype type, TypeMap& map) {
  MPI_Count size = 0;
  MPI_Count lower = 0;
  MPI_Count extent = 0;
  if (!map.valid() || PMPI_Type_size_x(type, &size) != MPI_SUCCESS || as_unsigned(size) != map.size)
    return false;
  if (PMPI_Type_get_extent_x(type, &lower, &extent) != MPI_SUCCESS) return false;
  if (lower != map.lower || extent != map.extent) map = client::resized(map, lower, extent);
  if (size == 0) return true;
  if (PMPI_Type_get_true_extent_x(type, &lower, &extent) != MPI_SUCCESS) return false;
  return lower == map.true_lower && lower + extent == map.true_upper;
}

// What ROMIO describes with markers of its own for the bounds, which it then counts wrongly.
bool sets_bounds(int combiner) {
  return combiner == MPI_COMBINER_RESIZED || combiner == MPI_COMBINER_SUBARRAY ||
         combiner == MPI_COMBINER_DARRAY;
}

struct Flat {
  std::shared_ptr<const TypeMap> map;
  bool marked = false;  // bounds are set somewhere inside
};

Flat flatten_nested(MPI_Datatype type, bool& predefined, int level);

TypeMap flatten_derived(Contents& contents, int level, bool& marked) {
  const int combiner = contents.combiner();
  std::map<MPI_Datatype, Flat> known;  // a struct may name one type many times
  Maps maps;
  Placement placement = Placement::agreed;
  for (const MPI_Datatype old : contents.types()) {
    Flat& flat = known[old];
    bool ignored = false;
    if (!flat.map) flat = flatten_nested(old, ignored, level + 1);
    if (!flat.map) return no_map();
    maps.push_back(flat.map);
    marked = marked || flat.marked;
    placement = std::max(placement, flat.map->placement);
    // A lower bound other than 0 inside another type, unless it is replaced.
    if (flat.map->lower != 0 && combiner != MPI_COMBINER_RESIZED)
      placement = std::max(placement, Placement::doubtful);
  }
  if (maps.empty() && combiner != MPI_COMBINER_STRUCT) return no_map();
  TypeMap map = maps.empty() ? struct_map(contents, maps) : derived_map(contents, maps);
  if (!contents.complete()) return no_map();
  const bool indexed = combiner == MPI_COMBINER_INDEXED || combiner == MPI_COMBINER_HINDEXED;
  if (indexed && (marked || !maps[0]->contiguous))
    placement = std::max(placement, contents.empty_blocks() ? Placement::disputed : Placement::doubtful);
  map.placement = placement;
  marked = marked || sets_bounds(combiner);
  return map;
}

Flat flatten_nested(MPI_Datatype type, bool& predefined, int level) {
  if (type == MPI_DATATYPE_NULL || level > deepest_recursion) return {};
  Contents contents(type);
  if (!contents.ok()) return {};
  predefined = contents.predefined();
  bool marked = false;
  TypeMap map = predefined ? predefined_map(type) : flatten_derived(contents, level, marked);
  if (!agrees(type, map)) return {};
  return {std::make_shared<const TypeMap>(std::move(map)), marked};
}

}  // namespace

std::shared_ptr<const TypeMap> flatten(MPI_Datatype type, bool& predefined) {
  predefined = false;
  return flatten_nested(type, predefined, 0).map;
}

}  // namespace millrace::front
