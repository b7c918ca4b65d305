// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/view/typemap_builder.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace millrace::client {
namespace {

// Short sequences are copied into the sequence that refers to them. That saves a level and lets pieces join.
constexpr std::size_t inline_runs = 2;

// This many runs without a pattern become part of a list. The same number of later runs stays unsettled,
// because later pieces may join these runs.
constexpr std::size_t folded_runs = 16;
// Up to this number of pieces, a list takes less memory than the runs.
constexpr std::uint64_t most_folded_pieces(std::size_t runs) {
  return runs * sizeof(Run) / sizeof(ListedPiece);
}

std::int64_t end_of_last_piece(const Run& run) {
  return run.displacement + static_cast<std::int64_t>(run.count - 1) * run.stride +
         static_cast<std::int64_t>(run.length);
}

Run shifted(Run run, std::int64_t by, std::uint32_t bodies, std::uint32_t places) {
  run.displacement += by;
  if (run.leaf()) return run;
  run.first += run.list() ? places : bodies;
  run.last += run.list() ? places : bodies;
  return run;
}

}  // namespace

std::int64_t TypeMapBuilder::times(std::int64_t a, std::uint64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) result_.fits = false;
  return result_.fits ? result : 0;
}

std::int64_t TypeMapBuilder::plus(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) result_.fits = false;
  return result_.fits ? result : 0;
}

TypeMapBuilder::Import& TypeMapBuilder::import_bodies(const TypeMap& old) {
  Import& import = imports_[&old];
  if (import.has_bodies) return import;
  import.has_bodies = true;
  import.bodies = static_cast<std::uint32_t>(bodies_.size());
  import.places = static_cast<std::uint32_t>(places_.size());
  places_.insert(places_.end(), old.places.begin(), old.places.end());
  for (std::uint32_t i = 0; i < old.root; ++i)
    bodies_.push_back(shifted(old.runs[i], 0, import.bodies, import.places));
  return import;
}

// A body's origin is its first byte of data, so that loops in a sequence are sorted by their displacements
// where their data is.
TypeMapBuilder::Import& TypeMapBuilder::import_root(const TypeMap& old) {
  Import& import = import_bodies(old);
  if (import.has_root) return import;
  import.has_root = true;
  import.root = static_cast<std::uint32_t>(bodies_.size());
  for (std::size_t i = old.root; i < old.runs.size(); ++i)
    bodies_.push_back(shifted(old.runs[i], -old.true_lower, import.bodies, import.places));
  return import;
}

// Sums and bounds come from the old maps. A walk over the runs would take a time that grows with the number
// of pieces.
void TypeMapBuilder::summarise(const TypeMap& old, std::int64_t displacement, std::uint64_t count,
                               std::int64_t stride) {
  const std::int64_t first = plus(displacement, old.true_lower);
  const std::int64_t span = plus(old.true_upper, -old.true_lower);
  const std::int64_t reach = times(stride, count - 1);
  const std::int64_t last = plus(first, reach);
  const std::int64_t lower = std::min(first, last);
  const std::int64_t upper = plus(std::max(first, last), span);
  const bool in_order = old.monotone && (count == 1 || stride >= span);
  if (!in_order || (any_data_ && first < result_.true_upper)) result_.monotone = false;
  result_.true_lower = any_data_ ? std::min(result_.true_lower, lower) : lower;
  result_.true_upper = any_data_ ? std::max(result_.true_upper, upper) : upper;
  any_data_ = true;
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(old.size, count, &bytes) ||
      __builtin_add_overflow(bytes, result_.size, &result_.size) ||
      result_.size > static_cast<std::uint64_t>(INT64_MAX)) {
    result_.fits = false;
  }
}

void TypeMapBuilder::add(const TypeMap& old, std::int64_t displacement, std::uint64_t count,
                         std::int64_t stride) {
  if (!old.fits) result_.fits = false;
  if (count == 0 || old.size == 0 || !result_.fits) return;
  summarise(old, displacement, count, stride);
  if (!result_.fits) return;

  const std::size_t roots = old.runs.size() - old.root;
  if (roots == 1) return add_single(old, displacement, count, stride);
  if (count == 1 && roots <= inline_runs) {
    const Import import = refers(old) ? import_bodies(old) : Import{};
    result_.pieces += old.pieces;
    deepest_ = std::max(deepest_, old.depth);
    for (std::size_t i = old.root; i < old.runs.size(); ++i)
      append(shifted(old.runs[i], displacement, import.bodies, import.places));
    return;
  }
  const Import& import = import_root(old);
  result_.pieces += old.pieces * count;
  deepest_ = std::max(deepest_, old.depth + 1);
  append({displacement + old.true_lower, old.size, count, count == 1 ? 0 : stride, 0, import.root,
          import.root + static_cast<std::uint32_t>(roots)});
}

// True if runs of the old map refer to other runs, or to places.
bool TypeMapBuilder::refers(const TypeMap& old) { return old.root != 0 || !old.places.empty(); }

// Adds a map that is one run. Often the passes are one run as well.
void TypeMapBuilder::add_single(const TypeMap& old, std::int64_t displacement, std::uint64_t count,
                                std::int64_t stride) {
  const Import imported = refers(old) ? import_bodies(old) : Import{};
  Run run = shifted(old.runs[old.root], displacement, imported.bodies, imported.places);
  deepest_ = std::max(deepest_, old.depth);
  if (run.count == 1 && run.leaf() && (count == 1 || stride == static_cast<std::int64_t>(run.length))) {
    run.length *= count;
    result_.pieces += 1;
    return append(run);
  }
  result_.pieces += old.pieces * count;
  if (count == 1) return append(run);
  if (run.count == 1) {
    run.count = count;
    run.stride = stride;
    return append(run);
  }
  if (!run.list() && stride == run.stride * static_cast<std::int64_t>(run.count)) {
    run.count *= count;
    return append(run);
  }
  const Import& import = import_root(old);
  deepest_ = std::max(deepest_, old.depth + 1);
  append({displacement + old.true_lower, old.size, count, stride, 0, import.root, import.root + 1});
}

void TypeMapBuilder::append(Run run) {
  if (sequence_.empty()) {
    sequence_.push_back(run);
    return;
  }
  Run& back = sequence_.back();
  if (back.leaf() && run.leaf() && end_of_last_piece(back) == run.displacement) return append_touching(run);
  if (extend(back, run)) return;
  sequence_.push_back(run);
  if (sequence_.size() - settled_ >= 2 * folded_runs) fold(folded_runs);
}

// Settles the oldest unsettled runs, and puts them into a list if they have no pattern.
//
//   settled          | count       |              ->   settled    list |
//   run run list     | run ... run | run ... run       run run    list | run ... run
//
void TypeMapBuilder::fold(std::size_t count) {
  const auto begin = sequence_.begin() + static_cast<std::ptrdiff_t>(settled_);
  const auto end = begin + static_cast<std::ptrdiff_t>(count);
  std::uint64_t pieces = 0;
  for (auto run = begin; run != end; ++run)
    pieces += run->leaf() ? run->count : most_folded_pieces(count) + 1;
  if (pieces > most_folded_pieces(count)) {
    settled_ += count;
    return;
  }
  const std::vector<Run> runs(begin, end);
  sequence_.erase(begin, end);
  if (!runs.empty()) open_list(runs[0].displacement);
  for (const Run& run : runs) fold(run);
}

// Makes the last settled run a list that can grow.
void TypeMapBuilder::open_list(std::int64_t displacement) {
  if (settled_ > 0 && sequence_[settled_ - 1].list() && sequence_[settled_ - 1].last == places_.size())
    return;
  if (places_.empty()) places_.reserve(expected_);
  const auto at = static_cast<std::uint32_t>(places_.size());
  sequence_.insert(sequence_.begin() + static_cast<std::ptrdiff_t>(settled_),
                   {displacement, 0, 0, 0, 0, at, at});
  settled_ += 1;
}

// Puts the pieces of a leaf at the end of the list before the unsettled runs.
void TypeMapBuilder::fold(const Run& run) {
  Run& list = sequence_[settled_ - 1];
  for (std::uint64_t pass = 0; pass < run.count; ++pass) {
    const std::int64_t at = run.displacement + static_cast<std::int64_t>(pass) * run.stride;
    places_.push_back({at - list.displacement, list.length});
    list.length += run.length;
  }
  list.last = static_cast<std::uint32_t>(places_.size());
}

//   back            run                back        joined     run
//   |---|  |---|  |---|---| |---|  ->  |---| |---| |-------|  |---|
//
void TypeMapBuilder::append_touching(const Run& run) {
  Run joined{0, sequence_.back().length + run.length, 1, 0, 0, 0, 0};
  joined.displacement =
      end_of_last_piece(sequence_.back()) - static_cast<std::int64_t>(sequence_.back().length);
  Run& back = sequence_.back();
  if (--back.count == 0) sequence_.pop_back();
  if (!sequence_.empty() && sequence_.back().count == 1) sequence_.back().stride = 0;
  result_.pieces -= 1;
  if (sequence_.empty() || !extend(sequence_.back(), joined)) sequence_.push_back(joined);
  if (run.count == 1) return;
  Run rest = run;
  rest.displacement += rest.stride;
  if (--rest.count == 1) rest.stride = 0;
  append(rest);
}

// Makes `run` the continuation of `back`, if it is one.
bool TypeMapBuilder::extend(Run& back, const Run& run) {
  if (back.list() || run.list()) return false;
  if (back.length != run.length || back.first != run.first || back.last != run.last) return false;
  const std::int64_t step = run.displacement - back.displacement;
  if (back.count == 1 && (run.count == 1 || run.stride == step)) {
    back.stride = step;
    back.count += run.count;
    return true;
  }
  if (back.count == 1 || (run.count != 1 && run.stride != back.stride)) return false;
  if (step != back.stride * static_cast<std::int64_t>(back.count)) return false;
  back.count += run.count;
  return true;
}

void TypeMapBuilder::add_bounded(const TypeMap& old, std::int64_t displacement, std::uint64_t count,
                                 std::int64_t stride) {
  if (count == 0) return;
  const std::int64_t first = plus(displacement, old.lower);
  const std::int64_t last = plus(first, times(stride, count - 1));
  const std::int64_t lower = std::min({first, last, plus(first, old.extent), plus(last, old.extent)});
  const std::int64_t upper = std::max({first, last, plus(first, old.extent), plus(last, old.extent)});
  // A negative extent (upper bound below the lower one) keeps its sense if it is the only one.
  lower_ = any_bound_ ? std::min(lower_, old.extent < 0 ? std::min(first, last) : lower)
                      : (old.extent < 0 ? std::min(first, last) : lower);
  const std::int64_t high = old.extent < 0 ? plus(std::max(first, last), old.extent) : upper;
  upper_ = any_bound_ ? std::max(upper_, high) : high;
  any_bound_ = true;
  add(old, displacement, count, stride);
}

void TypeMapBuilder::add_contiguous(std::span<const TypeBlock> blocks, std::int64_t unit,
                                    std::uint64_t element) {
  std::array<PlainPiece, folded_runs> group;
  std::size_t grouped = 0;
  std::int64_t size = static_cast<std::int64_t>(result_.size);
  for (const TypeBlock& block : blocks) {
    if (block.length == 0) continue;
    const std::int64_t first = times(block.displacement, static_cast<std::uint64_t>(unit));
    const std::int64_t bytes = times(static_cast<std::int64_t>(element), block.length);
    const std::int64_t end = plus(first, bytes);
    size = plus(size, bytes);
    if (!result_.fits) return;
    if (any_data_ && first < result_.true_upper) result_.monotone = false;
    result_.true_lower = any_data_ ? std::min(result_.true_lower, first) : first;
    result_.true_upper = any_data_ ? std::max(result_.true_upper, end) : end;
    any_data_ = true;
    if (grouped > 0 && group[grouped - 1].end() == first) {
      group[grouped - 1].length += static_cast<std::uint64_t>(bytes);
      continue;
    }
    if (grouped == group.size()) append(std::span(group).first(std::exchange(grouped, 0)));
    group[grouped++] = {first, static_cast<std::uint64_t>(bytes)};
  }
  append(std::span(group).first(grouped));
  result_.size = static_cast<std::uint64_t>(size);
  if (!any_data_) return;
  deepest_ = std::max<std::uint32_t>(deepest_, 1);
  lower_ = any_bound_ ? std::min(lower_, result_.true_lower) : result_.true_lower;
  upper_ = any_bound_ ? std::max(upper_, result_.true_upper) : result_.true_upper;
  any_bound_ = true;
}

// Some: three pieces are a run.
TypeMapBuilder::Pattern TypeMapBuilder::pattern_of(std::span<const PlainPiece> pieces) {
  bool any = false, all = true;
  for (std::size_t i = 2; i < pieces.size(); ++i) {
    const PlainPiece &first = pieces[i - 2], &second = pieces[i - 1], &third = pieces[i];
    const bool goes_on =
        third.displacement - second.displacement == second.displacement - first.displacement &&
        third.length == second.length && second.length == first.length;
    any |= goes_on;
    all &= goes_on;
  }
  return !any ? Pattern::none : all ? Pattern::one_run : Pattern::some;
}

// A whole group that is one run goes into the sequence at once, and one without a pattern into the list.
void TypeMapBuilder::append(std::span<const PlainPiece> group) {
  result_.pieces += group.size();
  const Pattern pattern = group.size() < folded_runs ? Pattern::some : pattern_of(group);
  if (pattern == Pattern::one_run) {
    const PlainPiece& first = group.front();
    return append(
        Run{first.displacement, first.length, group.size(), group[1].displacement - first.displacement});
  }
  if (pattern == Pattern::some) {
    for (const PlainPiece& piece : group) append(Run{piece.displacement, piece.length});
    return;
  }
  fold(sequence_.size() - settled_);
  open_list(group.front().displacement);
  Run& list = sequence_[settled_ - 1];
  for (const PlainPiece& piece : group) {
    places_.push_back({piece.displacement - list.displacement, list.length});
    list.length += piece.length;
  }
  list.last = static_cast<std::uint32_t>(places_.size());
}

// Replaces a single pass over a sequence by that sequence.
void TypeMapBuilder::unwrap() {
  if (sequence_.size() != 1 || sequence_[0].leaf() || sequence_[0].count != 1) return;
  const Run wrapper = sequence_[0];
  sequence_.assign(bodies_.begin() + wrapper.first, bodies_.begin() + wrapper.last);
  for (Run& run : sequence_) run.displacement += wrapper.displacement;
  if (wrapper.last == bodies_.size()) bodies_.resize(wrapper.first);
  deepest_ -= 1;
}

TypeMap TypeMapBuilder::finish() {
  TypeMap map = std::move(result_);
  if (std::max(bodies_.size() + sequence_.size(), places_.size()) > UINT32_MAX) map.fits = false;
  unwrap();
  std::uint64_t before = 0;
  for (Run& run : sequence_) {
    run.before = before;
    before += run.bytes();
  }
  map.root = static_cast<std::uint32_t>(bodies_.size());
  if (bodies_.empty()) {
    map.runs = std::move(sequence_);
  } else {
    map.runs = std::move(bodies_);
    map.runs.insert(map.runs.end(), sequence_.begin(), sequence_.end());
  }
  map.runs.shrink_to_fit();
  map.places = std::move(places_);
  map.depth = map.runs.empty() ? 0 : std::max<std::uint32_t>(deepest_, 1);
  if (map.depth > TypeMap::max_depth) map.fits = false;
  map.lower = lower_;
  map.extent = upper_ - lower_;
  return map;
}

}  // namespace millrace::client
