// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "client/view/typemap.hpp"

namespace millrace::front {

// ROMIO before MPICH 4.1 has its own code that turns a filetype into a list of (offset, length). This code
// (ADIOI_Flatten) has one rule for each constructor of the nest. Five rules are wrong:
//
// 1. Bounds that a program sets (MPI_Type_create_resized, subarray, darray) are entries of length 0. An
//    MPI_Type_indexed or hindexed of a type with such an entry loses all elements but the first.
// 2. A lower bound other than 0 that a program sets moves the data by that bound.
// 3. A contiguous type whose data begins before its origin is placed at the origin.
// 4. The origin of a darray of 2^31 elements or more is computed in an int.
// 5. A block of length 0 of a type with holes is one element, in indexed, hindexed and struct types.
//
// MPI_File_get_byte_offset shows the effects of rules 1 to 4. TypeMap::doubts has the positions to ask for.
// The rules move a copy of an element as a whole, so the first element of a nest stands for all others. Rule
// 5 may have no visible effect.

// A nested type, with the facts that its parent needs.
struct Nested {
  std::shared_ptr<client::TypeMap> map;
  bool predefined = false;
  bool empty_entries = false;  // ROMIO's list of it may hold entries of length 0
};

// How a constructor repeats its one nested type.
struct Repetition {
  bool indexed = false;  // lengths of blocks differ: MPI_Type_indexed and hindexed
  bool empty_blocks = false;
  bool several = false;       // elements
  double array_elements = 1;  // of a darray
};

// Sets the doubts of `map`, which a constructor has made of `old`. The first element begins at position 0.
void place_copies(client::TypeMap& map, const Nested& old, const Repetition& repetition);

// Sets the doubts of `map`, a struct of `members`, which belong to `types`.
void place_members(client::TypeMap& map, std::span<const client::StructMember> members,
                   std::span<const Nested> types);

// Adds the doubts about bounds that MPI_Type_create_resized has set.
void place_bounds(client::TypeMap& map);

}  // namespace millrace::front
