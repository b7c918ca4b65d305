// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/read_ahead.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "client/trace.hpp"

namespace millrace::client {

namespace {

constexpr std::size_t list_payload_max = 8 * KiB;  // fits into the smallest ring
// Guesses that are on their way: a share of the bytes that the program has read, within these bounds.
constexpr std::uint64_t guess_share = 8;
constexpr std::uint64_t guess_least_bytes = 64 * KiB;
constexpr std::uint64_t guess_most_bytes = 2 * MiB;
// A smaller read that nobody can foresee is one question to the file server. The library asks it too, and the
// kernel may have the bytes already.
constexpr std::uint64_t small_bytes = 64 * KiB;

bool same(const FileView& one, const FileView& other) {
  return one.displacement() == other.displacement() && one.etype_size() == other.etype_size() &&
         &one.filetype() == &other.filetype();
}

}  // namespace

// --- What to ask for ---

void ReadAhead::Asking::skip(std::uint64_t bytes) {
  while (bytes > 0) {
    if (rest.size == 0 && source.next(std::span(&rest, 1)) == 0) return;
    const std::uint64_t size = std::min(bytes, rest.size);
    rest.offset += size;
    rest.size -= size;
    bytes -= size;
  }
}

bool ReadAhead::Asking::next(Extent& extent) {
  if (rest.size == 0 && source.next(std::span(&rest, 1)) == 0) return false;
  extent = {rest.offset, rest.offset + rest.size};
  rest.size = 0;
  return true;
}

// The bytes of guesses that may be on the way: a share of what the program has read, and no more than what it
// has read in the order that is expected to go on. 0: too many guesses were wrong.
std::uint64_t ReadAhead::guess_limit() const {
  const std::uint64_t share = counters_.bytes / guess_share;
  if (counters_.wrong_bytes > share + guess_least_bytes) return 0;
  return std::min(std::clamp(share, guess_least_bytes, guess_most_bytes), in_order_);
}

// The next extent that the rank is expected to read, up to the end of the file.
bool ReadAhead::next_guess(Extent& extent) {
  while (guess_left_ == 0) {
    const std::optional<Foresight::Transfer> next = foresight_ ? foresight_->next() : std::nullopt;
    if (!next || next->bytes == 0) return false;
    if (next->position > UINT64_MAX / 4 || next->bytes > UINT64_MAX / 4) return false;
    guess_.emplace(view_->filetype(), static_cast<std::int64_t>(view_->displacement()), next->position);
    guess_left_ = next->bytes;
  }
  const auto begin = static_cast<std::uint64_t>(guess_->offset());
  const std::uint64_t size = std::min(guess_->rest(), guess_left_);
  if (begin >= file_bytes_ || size > file_bytes_ - begin) {
    foresight_.reset();
    guess_left_ = 0;
    return false;
  }
  extent = {begin, begin + size};
  guess_left_ -= size;
  guess_->advance(size);
  return true;
}

// Fills one list from `next`, as far as it ascends, up to `most` bytes. False: there is nothing to ask for,
// or no part of the window for it.
template <class Next>
bool ReadAhead::send_list(std::uint64_t most, bool guessed, Next&& next) {
  Extent& rest = guessed ? held_guess_ : held_;
  if (rest.empty() && !next(rest)) return false;
  const std::optional<std::uint32_t> part = window_.take_part();
  if (!part) return false;
  transport::WantWriter writer(list_payload_max);
  List list;
  list.guessed = guessed;
  while (list.left < most && (!rest.empty() || next(rest))) {
    Extent now = rest;
    now.end = std::min(now.end, now.begin + (most - list.left));
    if (!list.extents.empty() && now.begin < list.extents.back().end) break;
    if (!writer.add(now)) break;
    if (!list.extents.empty() && list.extents.back().end == now.begin) {
      list.extents.back().end = now.end;
    } else {
      list.extents.push_back(now);
    }
    list.left += now.size();
    rest.begin = now.end;
  }
  const Result<ReadWindow::Wanted> wanted = window_.want(file_, *part, writer.finish());
  if (!wanted) {
    window_.give_back(*part);
    broken_ = wanted.status();
    return false;
  }
  list.wanted = *wanted;
  list.next = window_.data(*wanted);
  on_the_way_ += list.left;
  if (guessed) guessed_ += list.left;
  ++counters_.lists;
  lists_.push_back(std::move(list));
  return true;
}

// Sends lists: for the rest of the call, then for what is expected behind it.
void ReadAhead::ask() {
  const auto of_call = [this](Extent& extent) { return asking_->next(extent); };
  const auto expected = [this](Extent& extent) { return next_guess(extent); };
  while (broken_.ok() && send_list(ReadWindow::part_bytes, false, of_call)) {
  }
  if (!held_.empty()) return;
  for (std::uint64_t limit = guess_limit(); broken_.ok() && guessed_ <= limit / 2 && limit > 0;) {
    if (!foreseen_) foresight_ = sequence_.foresee();
    foreseen_ = foreseen_ || foresight_.has_value();
    if (!foreseen_) return;
    if (!send_list(std::min((limit + 1) / 2, ReadWindow::part_bytes), true, expected)) return;
  }
}

// --- What has come ---

Status ReadAhead::await(List& list) {
  if (list.answered) return {};
  const TraceSpan span("wait for bytes", list.left);
  const Status come = window_.await(list.wanted);
  // After a timeout the agent may still write to the part: it is free when the answer comes.
  list.answered = come.code() != Code::timeout;
  return come;
}

// The next guesses begin anew, behind the call.
void ReadAhead::forget_guesses() {
  foreseen_ = false;
  foresight_.reset();
  guess_left_ = 0;
  held_guess_ = {};
}

void ReadAhead::forget_all() {
  for (const List& list : lists_) {
    list.answered ? window_.give_back(list.wanted.part) : window_.forget(list.wanted);
    if (list.guessed) counters_.wrong_bytes += list.left;
  }
  lists_.clear();
  held_ = {};
  forget_guesses();
  on_the_way_ = guessed_ = 0;
}

// Copies one piece of the call to its memory.
Status ReadAhead::take(const Piece& piece, std::uint64_t& taken, const PieceSource& call) {
  auto* to = static_cast<std::byte*>(const_cast<void*>(piece.data));
  for (std::uint64_t at = piece.offset; at < piece.offset + piece.size;) {
    if (lists_.empty()) ask();
    if (!broken_.ok()) return broken_;
    if (lists_.empty()) {
      if (!window_.await_part()) return Code::no_memory;
      continue;
    }
    List& list = lists_.front();
    Extent& extent = list.extents[list.index];
    if (extent.begin != at) {
      forget_all();
      asking_.emplace(Asking{call});
      asking_->skip(taken);
      continue;
    }
    if (const Status come = await(list); !come.ok()) return broken_ = come;
    const std::uint64_t size = std::min(extent.end, piece.offset + piece.size) - at;
    std::memcpy(to, list.next, size);
    to += size;
    at += size;
    taken += size;
    list.next += size;
    list.left -= size;
    on_the_way_ -= size;
    if (list.guessed) {
      guessed_ -= size;
      counters_.guessed_bytes += size;
    }
    extent.begin += size;
    if (!extent.empty() || ++list.index < list.extents.size()) continue;
    window_.give_back(list.wanted.part);
    lists_.pop_front();
    ask();
  }
  return {};
}

// True if the first piece of the transfer is the next one on the way.
bool ReadAhead::expects(PieceSource source) const {
  Piece first{};
  return !lists_.empty() && source.next(std::span(&first, 1)) == 1 &&
         lists_.front().extents[lists_.front().index].begin == first.offset;
}

Status ReadAhead::read(const FileView& view, std::uint64_t position, const PieceSource& source,
                       std::uint64_t end) {
  const std::lock_guard guard(mutex_);
  if (!broken_.ok()) return broken_;
  if (end > file_bytes_) return Code::unsupported;
  if (!view_ || !same(view, *view_)) {
    forget_all();
    guess_.reset();
    view_ = view;
    // The view tells where the next bytes lie.
    const bool follows = !view.filetype().contiguous;
    sequence_ = Sequence(follows);
    in_order_ = follows ? guess_most_bytes : 0;
  }
  const std::uint64_t bytes = source.bytes_left();
  if (!sequence_.expects(position)) in_order_ = 0;
  sequence_.add(position, bytes);
  in_order_ += bytes;
  if (!expects(source)) forget_all();
  if (leaves_small_ && lists_.empty() && bytes < small_bytes && (guess_limit() == 0 || !sequence_.foresee()))
    return Code::unsupported;
  asking_.emplace(Asking{source});
  asking_->skip(std::min(on_the_way_, bytes));
  if (on_the_way_ < bytes) forget_guesses();
  ask();
  PieceSource pieces = source;
  std::uint64_t taken = 0;
  const Status status = for_each_batch(pieces, [&](std::span<const Piece> batch) -> Status {
    for (const Piece& piece : batch) {
      if (const Status now = take(piece, taken, source); !now.ok()) return now;
    }
    return {};
  });
  counters_.bytes += taken;
  asking_.reset();
  if (!status.ok()) forget_all();
  return status;
}

void ReadAhead::drop() {
  const std::lock_guard guard(mutex_);
  forget_all();
}

ReadCounters ReadAhead::counters() {
  const std::lock_guard guard(mutex_);
  ReadCounters now = counters_;
  now.error = broken_;
  return now;
}

}  // namespace millrace::client
