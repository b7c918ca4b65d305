// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "client/view/typemap.hpp"

namespace millrace::client {

// Builds a map from passes over other maps, in type-map order. It joins pieces that touch, and turns equal
// steps into runs. Old maps must outlive the builder. Not thread safe.
class TypeMapBuilder {
 public:
  // Adds `count` passes over `old`. The first pass has its origin at `displacement`, and each further pass
  // `stride` bytes later.
  void add(const TypeMap& old, std::int64_t displacement, std::uint64_t count = 1, std::int64_t stride = 0);
  // Does the same as add(). The bounds of the new type also grow by the bounds of these passes.
  void add_bounded(const TypeMap& old, std::int64_t displacement, std::uint64_t count, std::int64_t stride);

  // Adds blocks of contiguous elements of `element` bytes. The result is that of add_bounded() for each
  // block, in a third of the time. Displacements are in units of `unit` bytes.
  void add_contiguous(std::span<const TypeBlock> blocks, std::int64_t unit, std::uint64_t element);
  // Announces the approximate number of additions.
  void expect(std::size_t additions) { expected_ = additions; }

  TypeMap finish();

  // These two remember an overflow: the map is then not valid.
  std::int64_t times(std::int64_t a, std::uint64_t b);
  std::int64_t plus(std::int64_t a, std::int64_t b);

 private:
  struct Import {
    std::uint32_t bodies = 0;  // where old.runs[0] lies now
    std::uint32_t places = 0;  // where old.places[0] lies now
    std::uint32_t root = 0;    // where its outermost sequence lies now
    bool has_bodies = false;
    bool has_root = false;
  };

  // One piece that repeats nothing.
  struct PlainPiece {
    std::int64_t displacement;
    std::uint64_t length;
    std::int64_t end() const { return displacement + static_cast<std::int64_t>(length); }
  };

  static bool refers(const TypeMap& old);
  Import& import_bodies(const TypeMap& old);
  Import& import_root(const TypeMap& old);
  void summarise(const TypeMap& old, std::int64_t displacement, std::uint64_t count, std::int64_t stride);
  void add_single(const TypeMap& old, std::int64_t displacement, std::uint64_t count, std::int64_t stride);
  void append(Run run);
  void append(std::span<const PlainPiece> group);
  enum class Pattern { none, some, one_run };
  static Pattern pattern_of(std::span<const PlainPiece> pieces);
  void append_touching(const Run& run);
  void fold(std::size_t count);
  void fold(const Run& run);
  void open_list(std::int64_t displacement);
  void unwrap();
  static bool extend(Run& back, const Run& run);

  std::vector<Run> bodies_;
  std::vector<Run> sequence_;
  std::vector<ListedPiece> places_;
  std::size_t settled_ = 0;  // runs of the sequence before this one stay as they are
  std::size_t expected_ = 0;
  std::unordered_map<const TypeMap*, Import> imports_;
  TypeMap result_;
  std::int64_t lower_ = 0;
  std::int64_t upper_ = 0;
  std::uint32_t deepest_ = 0;
  bool any_data_ = false;
  bool any_bound_ = false;
};

}  // namespace millrace::client
