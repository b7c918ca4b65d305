// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/view/view.hpp"

#include <algorithm>
#include <utility>

namespace millrace::client {
namespace {

constexpr std::uint64_t endless = UINT64_MAX / 2;

const Run* root_begin(const TypeMap& map) { return map.runs.data() + map.root; }
const Run* root_end(const TypeMap& map) { return map.runs.data() + map.runs.size(); }

// The run of [first, last) that holds byte `within` of the sequence.
const Run* find_run(const Run* first, const Run* last, std::uint64_t within) {
  if (last - first == 1) return first;
  return std::upper_bound(first, last, within,
                          [](std::uint64_t w, const Run& run) { return w < run.before; }) -
         1;
}

// The place of a list that holds its byte `within`.
std::uint64_t find_place(const TypeMap& map, const Run& list, std::uint64_t within) {
  const ListedPiece* places = map.places.data();
  const ListedPiece* found =
      std::upper_bound(places + list.first, places + list.last, within,
                       [](std::uint64_t w, const ListedPiece& place) { return w < place.before; });
  return static_cast<std::uint64_t>(found - (places + list.first)) - 1;
}

std::uint64_t size_of_place(const TypeMap& map, const Run& list, std::uint64_t index) {
  const ListedPiece* place = map.places.data() + list.first + index;
  return (list.first + index + 1 < list.last ? place[1].before : list.length) - place->before;
}

// Bytes of a list of ascending pieces that lie before `limit`, which is behind the first piece's begin.
std::uint64_t bytes_of_list_before(const TypeMap& map, const Run& list, std::int64_t limit) {
  const ListedPiece* first = map.places.data() + list.first;
  const ListedPiece* place =
      std::partition_point(first, map.places.data() + list.last,
                           [&](const ListedPiece& p) { return p.displacement < limit; }) -
      1;
  const std::uint64_t size = size_of_place(map, list, static_cast<std::uint64_t>(place - first));
  return place->before + std::min(as_unsigned(limit - place->displacement), size);
}

// Bytes of a sequence of ascending pieces that lie before `limit`, both relative to the sequence's origin.
std::uint64_t bytes_before(const TypeMap& map, const Run* first, const Run* last, std::int64_t limit) {
  std::uint64_t bytes = 0;
  while (true) {
    const Run* run = std::partition_point(first, last, [&](const Run& r) { return r.displacement < limit; });
    if (run == first) return bytes;
    run -= 1;
    bytes += run->before;
    const std::int64_t gap = limit - run->displacement;
    if (run->list()) return bytes + bytes_of_list_before(map, *run, gap);
    std::uint64_t pass = 0;
    if (run->count > 1) pass = std::min(as_unsigned((gap - 1) / run->stride), run->count - 1);
    bytes += pass * run->length;
    const std::int64_t inner = gap - as_signed(pass) * run->stride;
    if (run->leaf()) return bytes + std::min(as_unsigned(std::max<std::int64_t>(inner, 0)), run->length);
    first = map.runs.data() + run->first;
    last = map.runs.data() + run->last;
    limit = inner;
  }
}

}  // namespace

Cursor::Cursor(const TypeMap& map, std::int64_t origin, std::uint64_t position) : map_(&map) {
  if (map.contiguous) {
    at_ = piece_ = origin + as_signed(position);
    rest_ = length_ = endless;
    passes_ = endless;
    return;
  }
  if (map.tiled) {
    const Run& run = map.runs[0];
    length_ = run.length;
    stride_ = run.count == 1 ? map.extent : run.stride;
    passes_ = endless;
    const std::uint64_t pass = position / run.length;
    const std::uint64_t skip = position - pass * run.length;
    piece_ = origin + run.displacement + as_signed(pass) * stride_;
    at_ = piece_ + as_signed(skip);
    rest_ = length_ - skip;
    return;
  }
  frames_[0].base = origin;
  seek(position);
}

void Cursor::seek(std::uint64_t position) {
  const std::uint64_t element = position < map_->size ? 0 : position / map_->size;
  std::uint64_t within = position - element * map_->size;
  std::int64_t base = frames_[0].base + as_signed(element) * map_->extent;
  const Run* first = root_begin(*map_);
  const Run* last = root_end(*map_);
  for (level_ = 0;; ++level_) {
    const Run* run = find_run(first, last, within);
    within -= run->before;
    if (run->list()) {
      const std::uint64_t index = find_place(*map_, *run, within);
      frames_[level_] = {base, run, last, index};
      enter_list();
      return advance(within - map_->places[run->first + index].before);
    }
    const std::uint64_t pass = within < run->length ? 0 : within / run->length;
    within -= pass * run->length;
    frames_[level_] = {base, run, last, pass};
    if (run->leaf()) return enter(*run, base, pass, within);
    base += run->displacement + as_signed(pass) * run->stride;
    first = map_->runs.data() + run->first;
    last = map_->runs.data() + run->last;
  }
}

void Cursor::enter(const Run& leaf, std::int64_t base, std::uint64_t pass, std::uint64_t skip) {
  length_ = leaf.length;
  stride_ = leaf.stride;
  passes_ = leaf.count - pass;
  piece_ = base + leaf.displacement + as_signed(pass) * leaf.stride;
  at_ = piece_ + as_signed(skip);
  rest_ = leaf.length - skip;
}

// Enters the place of the current frame, at its first byte.
void Cursor::enter_list() {
  const Frame& frame = frames_[level_];
  length_ = size_of_place(*map_, *frame.run, frame.pass);
  passes_ = 1;
  piece_ = frame.base + frame.run->displacement + map_->places[frame.run->first + frame.pass].displacement;
  at_ = piece_;
  rest_ = length_;
}

// Goes from the run of the current level down to the leaf at its begin.
void Cursor::descend() {
  while (true) {
    const Frame& frame = frames_[level_];
    if (frame.run->list()) return enter_list();
    if (frame.run->leaf()) return enter(*frame.run, frame.base, 0, 0);
    const Run* bodies = map_->runs.data();
    const std::int64_t base =
        frame.base + frame.run->displacement + as_signed(frame.pass) * frame.run->stride;
    ++level_;
    frames_[level_] = {base, bodies + frame.run->first, bodies + frame.run->last, 0};
  }
}

void Cursor::next_run() {
  while (true) {
    Frame& frame = frames_[level_];
    if (frame.run->list() && ++frame.pass < frame.run->last - frame.run->first) return enter_list();
    if (++frame.run < frame.last) {
      frame.pass = 0;
      return descend();
    }
    if (level_ == 0) {
      frame = {frame.base + map_->extent, root_begin(*map_), root_end(*map_), 0};
      return descend();
    }
    --level_;
    Frame& outer = frames_[level_];
    if (++outer.pass < outer.run->count) return descend();
  }
}

namespace {
// The most elements that may overlap. position_of() looks at each of them.
constexpr std::int64_t most_interleaved = 4096;
}  // namespace

FileView::FileView(std::uint64_t displacement, std::uint64_t etype_size,
                   std::shared_ptr<const TypeMap> filetype)
    : displacement_(displacement), etype_size_(etype_size), filetype_(std::move(filetype)) {
  const TypeMap& map = *filetype_;
  const std::int64_t span = map.true_upper - map.true_lower;
  interleaved_ = map.extent < span;
  usable_ = map.valid() && map.size > 0 && etype_size > 0 && map.monotone && map.true_lower >= 0 &&
            map.extent > 0 && span / map.extent <= most_interleaved &&
            displacement <= static_cast<std::uint64_t>(INT64_MAX);
}

FileView::FileView() {
  // Lives as long as the process: exit handlers may open files.
  static const auto& bytes = *new auto(std::make_shared<const TypeMap>(contiguous_type(1)));
  filetype_ = bytes;
}

std::uint64_t FileView::offset_of(std::uint64_t position) const {
  if (filetype_->contiguous) return displacement_ + position;
  return as_unsigned(Cursor(*filetype_, as_signed(displacement_), position).offset());
}

std::uint64_t FileView::position_of(std::uint64_t offset) const {
  if (offset <= displacement_) return 0;
  const std::uint64_t distance = offset - displacement_;
  if (filetype_->contiguous) return distance;
  const TypeMap& map = *filetype_;
  if (as_signed(distance) <= map.true_lower) return 0;
  // `last` is the last element that begins before the offset. All elements but the last few lie wholly before
  // it.
  const std::uint64_t last = (distance - as_unsigned(map.true_lower) - 1) / as_unsigned(map.extent);
  const std::uint64_t cut = as_unsigned((map.true_upper - map.true_lower - 1) / map.extent);
  const std::uint64_t first = last - std::min(last, cut);
  std::uint64_t bytes = first * map.size;
  for (std::uint64_t element = first; element <= last; ++element)
    bytes += bytes_before(map, root_begin(map), root_end(map),
                          as_signed(distance) - as_signed(element) * map.extent);
  return bytes;
}

Extent FileView::hull_of(std::uint64_t position, std::uint64_t bytes) const {
  if (bytes == 0) return {};
  const Extent ends{offset_of(position), offset_of(position + bytes - 1) + 1};
  if (!interleaved_) return ends;
  const TypeMap& map = *filetype_;
  const std::uint64_t first = position / map.size;
  const std::uint64_t last = (position + bytes - 1) / map.size;
  if (first == last) return ends;
  // Returns the extent of all touched elements. It may be larger than the bytes, but never smaller.
  const std::uint64_t origin = displacement_ + as_unsigned(map.extent) * first;
  return {origin + as_unsigned(map.true_lower),
          origin + as_unsigned(map.extent) * (last - first) + as_unsigned(map.true_upper)};
}

std::uint64_t FileView::estimate_pieces(std::uint64_t position, const TypeMap& memory,
                                        std::uint64_t count) const {
  const std::uint64_t bytes = memory.size * count;
  if (bytes == 0) return 0;
  const TypeMap& map = *filetype_;
  std::uint64_t in_memory = memory.contiguous ? 1 : memory.pieces * count;
  if (map.contiguous) return in_memory;
  if (bytes <= Cursor(map, 0, position).rest()) return in_memory;
  const std::uint64_t elements = bytes / map.size;
  const std::uint64_t left = bytes - elements * map.size;
  const std::uint64_t mean = (map.size + map.pieces - 1) / map.pieces;
  const std::uint64_t in_file = elements * map.pieces + (left + mean - 1) / mean;
  return std::max({in_memory, in_file, std::uint64_t{1}});
}

std::uint64_t FileView::estimate_swept(std::uint64_t position, std::uint64_t bytes,
                                       const SieveBounds& sweep) const {
  constexpr unsigned most_pieces = 256;
  if (bytes == 0 || sweep.window == 0) return 0;
  Cursor at(*filetype_, as_signed(displacement_), position);
  std::uint64_t begin = as_unsigned(at.offset()), end = begin;  // of the current part
  std::uint64_t swept = sweep.gap, taken = 0;
  for (unsigned piece = 0; piece < most_pieces; ++piece) {
    const std::uint64_t offset = as_unsigned(at.offset());
    const std::uint64_t size = std::min(at.rest(), bytes - taken);
    if (offset < end || offset - end > sweep.gap || offset >= begin + sweep.window) {
      swept += end - begin + sweep.gap;
      begin = offset;
    }
    end = offset + size;
    const std::uint64_t whole = (end - begin) / sweep.window;
    swept += whole * (sweep.window + sweep.gap);
    begin += whole * sweep.window;
    taken += size;
    if (taken == bytes) break;
    at.advance(size);
  }
  swept += end - begin;
  if (taken == bytes) return swept;
  return static_cast<std::uint64_t>(static_cast<double>(swept) / static_cast<double>(taken) *
                                    static_cast<double>(bytes));
}

PieceSource::PieceSource(const FileView& view, std::uint64_t position, const TypeMap& memory,
                         const void* buffer, std::uint64_t count)
    : left_(memory.size * count),
      file_(view.filetype(), as_signed(view.displacement()), position),
      memory_(memory, static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(buffer)), 0) {}

std::size_t PieceSource::next(std::span<Piece> out) {
  std::size_t n = 0;
  while (left_ != 0) {
    const std::uint64_t size = std::min({file_.rest(), memory_.rest(), left_});
    const std::uint64_t offset = as_unsigned(file_.offset());
    const auto address = static_cast<std::uintptr_t>(memory_.offset());
    Piece* back = n == 0 ? nullptr : &out[n - 1];
    if (back != nullptr && back->offset + back->size == offset &&
        reinterpret_cast<std::uintptr_t>(back->data) + back->size == address) {
      back->size += size;
    } else {
      if (n == out.size()) break;
      out[n++] = {offset, reinterpret_cast<const void*>(address), size};
    }
    left_ -= size;
    if (left_ == 0) break;  // the next piece may not exist in the caller's memory: do not touch it
    file_.advance(size);
    memory_.advance(size);
  }
  return n;
}

}  // namespace millrace::client
