// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/way/read_order.hpp"

#include <algorithm>

namespace millrace::client {

namespace {

// Far below the largest offset, so that sums of a position and a size do not overflow.
constexpr std::uint64_t position_max = UINT64_MAX / 4;

bool same(const FileView& one, const FileView& other) {
  return one.displacement() == other.displacement() && one.etype_size() == other.etype_size() &&
         &one.filetype() == &other.filetype();
}

}  // namespace

void ReadOrder::begin(const FileView& view, bool follows) {
  restart();
  sequence_ = Sequence(follows && !view.filetype().contiguous);
  in_order_ = follows && !view.filetype().contiguous ? known_bytes : 0;
}

bool ReadOrder::add(const FileView& view, std::uint64_t position, std::uint64_t bytes, std::uint64_t end) {
  const bool same_view = last_ && same(view, last_->view);
  // The view before had one transfer.
  const bool moves = !same_view && last_ && transfers_ == 1;
  const Extent hull{view.offset_of(position), end};
  const bool anew =
      moves != moves_ || (moves ? bytes != last_->bytes || hull.size() != last_->hull.size() : !same_view);
  if (anew) begin(view, !moves);
  moves_ = moves;
  transfers_ = same_view ? transfers_ + 1 : 1;
  const std::uint64_t at = moves ? hull.begin : position;
  if (!sequence_.expects(at)) in_order_ = 0;
  sequence_.add(at, moves ? hull.size() : bytes);
  in_order_ += bytes;
  if (same_view) {
    last_->position = position;
    last_->bytes = bytes;
    last_->hull = hull;
  } else {
    last_ = SeenTransfer{view, position, bytes, hull};
  }
  return anew;
}

void ReadOrder::restart() {
  foresight_.reset();
  guess_.reset();
  guess_left_ = 0;
}

// Begins the next expected transfer. False: it is unknown.
bool ReadOrder::begin_next() {
  if (!foresight_) foresight_ = sequence_.foresee();
  const std::optional<Foresight::Foreseen> next = foresight_ ? foresight_->next() : std::nullopt;
  if (!next || next->bytes == 0 || next->position > position_max || next->bytes > position_max) return false;
  const FileView& view = last_->view;
  auto origin = static_cast<std::int64_t>(view.displacement());
  if (moves_) {
    if (next->bytes != last_->hull.size()) return false;
    guess_view_ = view;
    origin += static_cast<std::int64_t>(next->position - last_->hull.begin);
    guess_.emplace(guess_view_.filetype(), origin, last_->position);
    guess_left_ = last_->bytes;
  } else {
    guess_.emplace(view.filetype(), origin, next->position);
    guess_left_ = next->bytes;
  }
  return true;
}

bool ReadOrder::next(std::uint64_t file_bytes, Extent& extent) {
  if (guess_left_ == 0 && !begin_next()) return false;
  const auto begin = static_cast<std::uint64_t>(guess_->offset());
  const std::uint64_t size = std::min(guess_->rest(), guess_left_);
  if (begin >= file_bytes || size > file_bytes - begin) return false;
  extent = {begin, begin + size};
  guess_left_ -= size;
  guess_->advance(size);
  return true;
}

}  // namespace millrace::client
