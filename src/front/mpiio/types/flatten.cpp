// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/types/flatten.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "front/mpiio/types/contents.hpp"
#include "front/mpiio/types/placing.hpp"

namespace millrace::front {
namespace {

using client::Distribution;
using client::Order;
using client::StructMember;
using client::TypeBlock;
using client::TypeMap;

using Types = std::vector<Nested>;

constexpr int deepest_recursion = 200;

TypeMap no_map() {
  TypeMap map;
  map.fits = false;
  return map;
}

std::uint64_t as_unsigned(std::int64_t value) { return static_cast<std::uint64_t>(value); }

// The memory that the maps of a nest may take, all together.
class Allowance {
 public:
  explicit Allowance(std::uint64_t bytes) : left_(bytes) {}
  bool spent() const { return spent_; }
  // False if the sum exceeds the bound.
  bool take(std::uint64_t count, std::uint64_t bytes_each) {
    spent_ = spent_ || count > left_ / bytes_each;
    if (!spent_) left_ -= count * bytes_each;
    return !spent_;
  }

 private:
  std::uint64_t left_;
  bool spent_ = false;
};
constexpr std::uint64_t bytes_of_member = sizeof(StructMember) + sizeof(Nested);

// The numbers of the constructor, and the map: a list of pieces is allocated with its final size; runs grow
// by doubling.
std::uint64_t bytes_of_block(const TypeMap& old) {
  return sizeof(TypeBlock) + (old.contiguous ? sizeof(client::ListedPiece) : 2 * sizeof(client::Run));
}

// A nested map, and its copy in the map of its parent.
std::uint64_t bytes_of_nested(const TypeMap& map) {
  return sizeof(TypeMap) + 2 * map.runs.size() * sizeof(client::Run) +
         map.places.size() * sizeof(client::ListedPiece);
}

// A value and an int behind it, laid out as C does: the types of MPI_MINLOC and MPI_MAXLOC.
template <class Value>
TypeMap pair_map() {
  struct Layout {
    Value value;
    int index;
  };
  const TypeMap value = client::contiguous_type(sizeof(Value));
  const TypeMap index = client::contiguous_type(sizeof(int));
  const StructMember members[] = {{offsetof(Layout, value), 1, &value}, {offsetof(Layout, index), 1, &index}};
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

// The blocks of an indexed type. All have this `length`; if it is negative, each block has its own.
class IndexedBlocks final : public client::Blocks {
 public:
  IndexedBlocks(Contents& contents, std::size_t count, std::int64_t length, bool bytes)
      : count_(count), length_(length) {
    if (length < 0) lengths_ = contents.row_of_counts(count);
    displacements_ = bytes ? contents.row_of_addresses(count) : contents.row_of_counts(count);
  }
  std::size_t count() const override { return count_; }
  std::size_t next(std::span<TypeBlock> into) override {
    const std::size_t n = std::min(into.size(), count_ - passed_);
    for (TypeBlock& block : into.first(n)) {
      block = {displacements_[passed_], as_unsigned(length_ < 0 ? lengths_[passed_] : length_)};
      elements_ += block.length;
      empty_ = empty_ || block.length == 0;
      ++passed_;
    }
    return n;
  }
  // Of the blocks that were made.
  std::uint64_t elements() const { return elements_; }
  bool any_empty() const { return empty_; }

 private:
  std::size_t count_, passed_ = 0;
  std::int64_t length_;
  Contents::Numbers lengths_, displacements_;
  std::uint64_t elements_ = 0;
  bool empty_ = false;
};

TypeMap indexed_map(Contents& contents, const TypeMap& old, bool one_length, bool bytes, Allowance& allowance,
                    Repetition& repetition) {
  repetition.indexed = !one_length;
  const std::uint64_t count = as_unsigned(contents.count());
  if (!allowance.take(count, bytes_of_block(old))) return no_map();
  const std::int64_t length = one_length ? contents.count() : -1;
  IndexedBlocks blocks(contents, count, length, bytes);
  if (!contents.complete()) return no_map();
  TypeMap map = bytes ? client::hindexed(old, blocks) : client::indexed(old, blocks);
  contents.drop_numbers();
  repetition.several = blocks.elements() > 1;
  repetition.empty_blocks = repetition.empty_blocks || blocks.any_empty();
  return map;
}

TypeMap vector_map(Contents& contents, const TypeMap& old, bool bytes) {
  const std::uint64_t count = as_unsigned(contents.count());
  const std::uint64_t length = as_unsigned(contents.count());
  const std::int64_t stride = bytes ? contents.address() : contents.count();
  return bytes ? client::hvector(old, count, length, stride) : client::vector(old, count, length, stride);
}

TypeMap struct_map(Contents& contents, const Types& types) {
  const std::int64_t count = contents.count();
  std::vector<StructMember> members;
  members.reserve(types.size());
  for (std::int64_t i = 0; i < count && contents.complete(); ++i)
    members.push_back({0, as_unsigned(contents.count()), nullptr});
  if (members.size() != types.size()) return no_map();
  for (std::size_t i = 0; i < members.size(); ++i) {
    members[i].displacement = contents.address();
    members[i].map = types[i].map.get();
  }
  TypeMap map = client::structure(members);
  place_members(map, members, types);
  return map;
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
  dimensions.reserve(sizes.size());
  for (std::size_t d = 0; d < sizes.size(); ++d) dimensions.push_back({sizes[d], subsizes[d], starts[d]});
  return client::subarray(old, dimensions, order);
}

TypeMap darray_map(Contents& contents, const TypeMap& old, Repetition& repetition) {
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
    repetition.array_elements *= static_cast<double>(sizes[d]);
  }
  return client::darray(old, rank, dimensions, order);
}

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
// Value and index as members of a C struct, with the index aligned to its size. agrees() later compares the
// result with the library's extent.
TypeMap value_index_map(const Types& types) {
  if (types.size() != 2 || types[1].map->size == 0) return no_map();
  const std::int64_t align = static_cast<std::int64_t>(types[1].map->size);
  const std::int64_t at = (types[0].map->extent + align - 1) / align * align;
  const StructMember members[] = {{0, 1, types[0].map.get()}, {at, 1, types[1].map.get()}};
  return client::structure(members);
}
#endif

// The map of a constructor that repeats one type.
TypeMap repeated_map(Contents& contents, const Types& types, Allowance& allowance, Repetition& repetition) {
  const TypeMap& old = *types[0].map;
  switch (contents.combiner()) {
    case MPI_COMBINER_CONTIGUOUS:
      return client::contiguous(old, as_unsigned(contents.count()));
    case MPI_COMBINER_VECTOR:
      return vector_map(contents, old, false);
    case MPI_COMBINER_HVECTOR:
      return vector_map(contents, old, true);
    case MPI_COMBINER_INDEXED:
      return indexed_map(contents, old, false, false, allowance, repetition);
    case MPI_COMBINER_HINDEXED:
      return indexed_map(contents, old, false, true, allowance, repetition);
    case MPI_COMBINER_INDEXED_BLOCK:
      return indexed_map(contents, old, true, false, allowance, repetition);
    case MPI_COMBINER_HINDEXED_BLOCK:
      return indexed_map(contents, old, true, true, allowance, repetition);
    case MPI_COMBINER_SUBARRAY:
      return subarray_map(contents, old);
    case MPI_COMBINER_DARRAY:
      return darray_map(contents, old, repetition);
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
    case MPI_COMBINER_VALUE_INDEX:
      return value_index_map(types);
#endif
    default:
      return no_map();
  }
}

// The MPI library knows alignment, so its bounds count. If they contradict the data, there is no map, which
// is better than a wrong one.
bool agrees(MPI_Datatype type, TypeMap& map) {
  MPI_Count size = 0;
  MPI_Count lower = 0;
  MPI_Count extent = 0;
  if (!map.valid() || PMPI_Type_size_x(type, &size) != MPI_SUCCESS || as_unsigned(size) != map.size)
    return false;
  if (PMPI_Type_get_extent_x(type, &lower, &extent) != MPI_SUCCESS) return false;
  if (lower != map.lower || extent != map.extent) map = client::resized(std::move(map), lower, extent);
  if (size == 0) return true;
  if (PMPI_Type_get_true_extent_x(type, &lower, &extent) != MPI_SUCCESS) return false;
  return lower == map.true_lower && lower + extent == map.true_upper;
}

bool sets_bounds(int combiner) {
  return combiner == MPI_COMBINER_RESIZED || combiner == MPI_COMBINER_SUBARRAY ||
         combiner == MPI_COMBINER_DARRAY;
}

Nested flatten_nested(MPI_Datatype type, int level, Allowance& allowance);

// The nested types of a constructor; none if one of them has no map.
Types flatten_types(const Contents& contents, int level, Allowance& allowance) {
  std::map<MPI_Datatype, Nested> known;  // a struct may name one type many times
  Types types;
  if (!allowance.take(contents.types().size(), bytes_of_member)) return {};
  types.reserve(contents.types().size());
  for (const MPI_Datatype type : contents.types()) {
    Nested& nested = known[type];
    if (!nested.map) {
      nested = flatten_nested(type, level, allowance);
      if (!nested.map || !allowance.take(1, bytes_of_nested(*nested.map))) return {};
    }
    types.push_back(nested);
  }
  return types;
}

TypeMap flatten_derived(Contents& contents, int level, Allowance& allowance, bool& empty_entries) {
  const int combiner = contents.combiner();
  const Types types = flatten_types(contents, level, allowance);
  if (types.size() != contents.types().size()) return no_map();
  for (const Nested& nested : types)
    empty_entries =
        empty_entries || nested.empty_entries || (combiner == MPI_COMBINER_STRUCT && nested.map->size == 0);
  empty_entries = empty_entries || sets_bounds(combiner);
  if (combiner == MPI_COMBINER_STRUCT) return struct_map(contents, types);
  if (types.empty()) return no_map();
  TypeMap& old = *types[0].map;
  if (combiner == MPI_COMBINER_DUP) return std::move(old);  // this is the only owner, and maps may be large
  if (combiner == MPI_COMBINER_RESIZED) {
    const std::int64_t lower = contents.address();
    TypeMap map = client::resized(std::move(old), lower, contents.address());
    place_bounds(map);
    return map;
  }
  Repetition repetition;
  TypeMap map = repeated_map(contents, types, allowance, repetition);
  place_copies(map, types[0], repetition);
  return map;
}

Nested flatten_nested(MPI_Datatype type, int level, Allowance& allowance) {
  if (type == MPI_DATATYPE_NULL || level > deepest_recursion) return {};
  Contents contents(type);
  if (!contents.ok()) return {};
  Nested nested;
  nested.predefined = contents.predefined();
  TypeMap map = nested.predefined ? predefined_map(type)
                                  : flatten_derived(contents, level + 1, allowance, nested.empty_entries);
  if (contents.complete() && agrees(type, map)) nested.map = std::make_shared<TypeMap>(std::move(map));
  return nested;
}

}  // namespace

Flat flatten(MPI_Datatype type, std::uint64_t most_bytes) {
  Allowance allowance(most_bytes);
  const Nested nested = flatten_nested(type, 0, allowance);
  return {nested.map, nested.predefined, allowance.spent()};
}

}  // namespace millrace::front
