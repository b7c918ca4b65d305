// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/types/placing.hpp"

namespace millrace::front {
namespace {

using client::TypeMap;

void doubt(TypeMap& map, std::uint64_t position) {
  if (map.doubts.size() <= TypeMap::most_doubts) map.doubts.push_back(position);
}

// Takes over the doubts of a nested type whose first element begins at `position` of the data.
void inherit(TypeMap& map, const TypeMap& old, std::uint64_t position) {
  for (const std::uint64_t inner : old.doubts) doubt(map, position + inner);
  map.disputed = map.disputed || old.disputed;
  if (old.size != 0 && old.true_lower < 0) doubt(map, position);  // rule 3
}

bool has_holes(const Nested& nested) {
  return !nested.predefined && (nested.empty_entries || !nested.map->contiguous);
}

}  // namespace

void place_copies(TypeMap& map, const Nested& old, const Repetition& repetition) {
  map.doubts.clear();
  map.disputed = false;
  if (map.size == 0) return;
  const std::uint64_t element = old.map->size;
  inherit(map, *old.map, 0);
  if (repetition.array_elements >= 0x1p31) doubt(map, 0);  // rule 4
  if (!repetition.indexed) return;
  if (repetition.empty_blocks && has_holes(old)) map.disputed = true;  // rule 5
  if (repetition.several && old.empty_entries) {                       // rule 1
    doubt(map, element);
    doubt(map, map.size - 1);
  }
}

void place_members(TypeMap& map, std::span<const client::StructMember> members,
                   std::span<const Nested> types) {
  std::uint64_t position = 0;
  for (std::size_t i = 0; i < members.size() && i < types.size(); ++i) {
    const TypeMap& old = *members[i].map;
    if (members[i].length == 0) {
      if (has_holes(types[i])) map.disputed = true;  // rule 5
      continue;
    }
    inherit(map, old, position);
    position += old.size * members[i].length;
  }
}

void place_bounds(TypeMap& map) {
  if (map.size != 0 && (map.lower != 0 || map.true_lower < 0)) doubt(map, 0);  // rules 2 and 3
}

}  // namespace millrace::front
