// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/way/read_ahead.hpp"

#include <algorithm>
#include <utility>

#include "base/copy.hpp"
#include "base/settings.hpp"
#include "client/session/trace.hpp"

namespace millrace::client {

namespace {

constexpr std::size_t list_payload_max = 8 * KiB;  // fits into the smallest ring
// Guesses that are on their way: a share of the bytes that the program has read, within these bounds.
constexpr std::uint64_t guess_share = 8;
constexpr std::uint64_t guess_least_bytes = 64 * KiB;
constexpr std::uint64_t guess_most_bytes = ReadOrder::known_bytes;
// A smaller read that nobody can foresee is one question to the file server. The library asks it too, and the
// kernel may have the bytes already.
constexpr std::uint64_t small_bytes = 64 * KiB;

}  // namespace

// --- What to ask for ---

// The next extent of the calls that nobody has asked for.
bool ReadAhead::next_wanted(Extent& extent) {
  for (; asking_ < calls_.size(); ++asking_) {
    BegunRead& call = *calls_[asking_];
    if (call.asking_rest.size == 0 && call.asking.next(std::span(&call.asking_rest, 1)) == 0) continue;
    const Piece piece = std::exchange(call.asking_rest, {});
    extent = {piece.offset, piece.offset + piece.size};
    return true;
  }
  return false;
}

// The bytes of guesses that may be on the way: a share of what the program has read, and no more than what it
// has read in the order that is expected to go on. 0: too many guesses were wrong.
std::uint64_t ReadAhead::guess_limit() const {
  const std::uint64_t share = (counters_.bytes + left_bytes_) / guess_share;
  if (counters_.wrong_bytes > share + guess_least_bytes) return 0;
  return std::min(std::clamp(share, guess_least_bytes, guess_most_bytes), order_.in_order());
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
  if (guessed) {
    list.guessed = list.left;
    list.guess = list.extents.front();
    guessed_ += list.guessed;
  }
  ++counters_.lists;
  lists_.push_back(std::move(list));
  return true;
}

// Sends lists: for the rest of the calls, then for what is expected behind them. Guesses only follow the
// flush that comes before a call begins. Otherwise they might lack writes of this process since then.
void ReadAhead::ask(bool guesses) {
  const auto of_calls = [this](Extent& extent) { return next_wanted(extent); };
  const auto expected = [this](Extent& extent) { return order_.next(file_bytes_, extent); };
  while (broken_.ok() && send_list(ReadWindow::part_bytes, false, of_calls)) {
  }
  if (!guesses || !held_.empty()) return;
  for (std::uint64_t limit = guess_limit(); broken_.ok() && guessed_ <= limit / 2 && limit > 0;) {
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

void ReadAhead::forget(const List& list) {
  list.answered ? window_.give_back(list.wanted.part) : window_.forget(list.wanted);
}

// Forgets the bytes that no call has claimed. The next guesses begin anew, behind the calls.
void ReadAhead::forget_guesses() {
  counters_.wrong_bytes += guessed_;
  guessed_ = 0;
  for (; !lists_.empty() && lists_.back().guessed == lists_.back().left; lists_.pop_back())
    forget(lists_.back());
  if (!lists_.empty() && lists_.back().guessed > 0) {  // calls have claimed its first bytes
    List& list = lists_.back();
    list.left -= std::exchange(list.guessed, 0);
    list.extents.resize(list.guess_index + 1);
    list.extents.back().end = list.guess.begin;
  }
  order_.restart();
  held_guess_ = {};
}

void ReadAhead::forget_all() {
  forget_guesses();
  for (const List& list : lists_) forget(list);
  lists_.clear();
  held_ = {};
}

// The oldest call has got all its bytes, or fails.
void ReadAhead::end_first(Status status) {
  BegunRead& call = *calls_.front();
  call.status = status;
  call.ended = true;
  calls_.pop_front();
  if (asking_ > 0) --asking_;
}

void ReadAhead::end_all(Status status) {
  while (!calls_.empty()) end_first(status);
  asking_ = 0;
  forget_all();
}

// Copies what the first list has for the oldest call. False: the agents or the window have failed.
bool ReadAhead::take_list(bool guesses) {
  BegunRead& call = *calls_.front();
  List& list = lists_.front();
  if (const Status come = await(list); !come.ok()) return broken_ = come, false;
  while (call.left > 0 && list.left > 0) {
    Piece& piece = call.taking_rest;
    if (piece.size == 0) (void)call.taking.next(std::span(&piece, 1));
    Extent& extent = list.extents[list.index];
    if (extent.begin != piece.offset) return broken_ = Code::corrupt, false;
    const std::uint64_t size = std::min(extent.size(), piece.size);
    copy_bytes(static_cast<std::byte*>(const_cast<void*>(piece.data)), list.next, size);
    piece = {piece.offset + size, static_cast<const std::byte*>(piece.data) + size, piece.size - size};
    call.left -= size;
    counters_.bytes += size;
    list.next += size;
    list.left -= size;
    extent.begin += size;
    if (extent.empty()) ++list.index;
  }
  if (list.left == 0) {
    window_.give_back(list.wanted.part);
    lists_.pop_front();
    ask(guesses);
  }
  if (call.left == 0) end_first({});
  return true;
}

// Takes bytes for the oldest calls, until one of them has ended.
void ReadAhead::take(const BegunRead& until, bool guesses) {
  while (!until.ended) {
    if (lists_.empty() && broken_.ok()) ask(guesses);
    const bool waits = broken_.ok() && lists_.empty();
    if (waits && window_.await_part()) continue;
    if (waits) return end_all(Code::no_memory);
    if (!broken_.ok() || !take_list(guesses)) return end_all(broken_);
  }
}

const ReadAhead::List* ReadAhead::first_guess() const {
  const auto found = std::ranges::find_if(lists_, [](const List& list) { return list.guessed > 0; });
  return found == lists_.end() ? nullptr : &*found;
}

// True if the first piece of the transfer is the next one that is guessed.
bool ReadAhead::expects(PieceSource source) const {
  Piece first{};
  const List* guess = first_guess();
  return guess != nullptr && source.next(std::span(&first, 1)) == 1 && guess->guess.begin == first.offset;
}

// Gives the call the guessed bytes that it begins with. False: it goes on with others.
bool ReadAhead::claim(BegunRead& call) {
  Piece& piece = call.asking_rest;
  for (List& list : lists_) {
    while (list.guessed > 0) {
      if (piece.size == 0 && call.asking.next(std::span(&piece, 1)) == 0) return true;
      if (list.guess.begin != piece.offset) return false;
      const std::uint64_t size = std::min(list.guess.size(), piece.size);
      piece = {piece.offset + size, static_cast<const std::byte*>(piece.data) + size, piece.size - size};
      list.guess.begin += size;
      list.guessed -= size;
      guessed_ -= size;
      counters_.guessed_bytes += size;
      if (list.guess.empty() && list.guessed > 0) list.guess = list.extents[++list.guess_index];
    }
  }
  return piece.size == 0 && call.asking.bytes_left() == 0;
}

Status ReadAhead::begin(const FileView& view, std::uint64_t position, const PieceSource& source,
                        std::uint64_t end, BegunRead& call) {
  if (!broken_.ok()) return broken_;
  if (end > file_bytes_) return Code::unsupported;
  const std::uint64_t bytes = source.bytes_left();
  const bool anew = order_.add(view, position, bytes, end);
  if (anew || !expects(source)) forget_guesses();
  if (leaves_small_ && guessed_ == 0 && bytes < small_bytes && (guess_limit() == 0 || !order_.foresees())) {
    left_bytes_ += bytes;
    return Code::unsupported;
  }
  call.ended = bytes == 0;
  if (call.ended) return {};
  if (!claim(call)) forget_guesses();
  calls_.push_back(&call);
  ask(true);
  return {};
}

Status ReadAhead::read(const FileView& view, std::uint64_t position, const PieceSource& source,
                       std::uint64_t end) {
  const std::lock_guard guard(mutex_);
  // A call before it is larger than the window. The caller's own read takes less time.
  if (!held_.empty()) return Code::unsupported;
  BegunRead call(source);
  if (const Status begun = begin(view, position, source, end, call); !begun.ok()) return begun;
  take(call, true);
  return call.status;
}

// --- Calls that go on while the program computes ---

class ReadAhead::Background final : public PendingRead {
 public:
  Background(ReadAhead& of, const PieceSource& source) : ahead(of), call(source) {}
  // Nobody waited for the end, so nothing may come any more. Other calls that have begun fail.
  ~Background() override {
    const std::lock_guard guard(ahead.mutex_);
    if (!call.ended) ahead.end_all(Code::unsupported);
  }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  Status finish() override {
    const std::lock_guard guard(ahead.mutex_);
    ahead.take(call, false);
    return call.status;
  }

  ReadAhead& ahead;
  BegunRead call;
};

Result<std::unique_ptr<PendingRead>> ReadAhead::start(const FileView& view, std::uint64_t position,
                                                      const PieceSource& source, std::uint64_t end) {
  auto read = std::make_unique<Background>(*this, source);
  const std::lock_guard guard(mutex_);
  const Status begun = begin(view, position, source, end, read->call);
  if (!begun.ok()) {
    read->call.ended = true;
    return begun;
  }
  if (broken_.ok() && (read->call.ended || !lists_.empty()))
    return Result<std::unique_ptr<PendingRead>>(std::move(read));
  end_all(broken_.ok() ? Status(Code::no_memory) : broken_);
  return read->call.status;
}

ReadAhead::~ReadAhead() {
  const std::lock_guard guard(mutex_);
  end_all(Code::lost_agent);
}

void ReadAhead::drop() {
  const std::lock_guard guard(mutex_);
  forget_guesses();
}

ReadCounters ReadAhead::counters() {
  const std::unique_lock guard(mutex_, std::try_to_lock);
  if (!guard) return {};  // a signal has ended the program within a read
  ReadCounters now = counters_;
  now.error = broken_;
  return now;
}

}  // namespace millrace::client
