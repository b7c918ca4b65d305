// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/pipeline/overflow.hpp"

#include <algorithm>
#include <utility>

#include "agent/pipeline/cover.hpp"
#include "io/posix/descriptor.hpp"
#include "io/posix/unnamed.hpp"

namespace millrace::agent {

namespace {

constexpr std::uint64_t segment_bytes_max = 1 * MiB;  // a segment ends with the record that reaches this
constexpr std::uint32_t segments_max = 128 * 1024;    // their descriptions take 3 MiB
constexpr std::uint64_t space_step_bytes = 4 * MiB;   // one check of free space for so many bytes
constexpr std::uint64_t renew_bytes = 256 * MiB;      // an empty journal above this begins anew
constexpr std::uint64_t plenty_bytes = 256 * MiB;     // more free room than this needs no reservation

}  // namespace

// Creates the file at first use. Not ok: there is no journal, and no byte is lost. Replaces an empty journal
// that has grown large. On a disk that is nearly full, the new journal uses the same file, because space that
// a file system frees is often available only later.
Status Overflow::prepare() {
  if (unavailable_) return Code::unsupported;
  if (log_ && (!empty() || (log_->file_bytes() < renew_bytes && has_space()))) return {};
  if (log_ && !log_->idle()) return has_space() ? Status() : Status(Code::no_space);
  Fd again = log_ && !has_space() ? std::move(space_) : Fd();
  log_.reset();
  space_.reset();
  return fail(create(std::move(again)));
}

Status Overflow::fail(Status status) {
  if (status.ok()) return status;
  unavailable_ = true;
  const std::string why = status.code() == Code::no_space ? "too little room" : status.describe();
  problem_ = "no journal in " + shared_.journal_directory + ": " + why;
  return status;
}

// True if the disk has room for the next step, for twice the bytes of the pool (small records need headers),
// and for the bytes in the writer.
bool Overflow::has_space() {
  const std::uint64_t size = log_ ? log_->file_bytes() : 0;
  if (size < space_until_) return true;
  const std::uint64_t needed = 2 * buffer_.pool().capacity_bytes() + 2 * space_step_bytes;
  const Result<std::uint64_t> left = io::free_bytes(space_);
  // File systems keep some of their free space for themselves.
  if (left.ok() && *left < needed + plenty_bytes) {
    const Status reserved = io::reserve(space_, size, needed);
    if (reserved.code() == Code::unsupported ? *left < needed : !reserved.ok()) return false;
  }
  space_until_ = size + space_step_bytes;
  return true;
}

Status Overflow::create(Fd again) {
  Result<Fd> file =
      again.valid() ? Result<Fd>(std::move(again)) : io::create_unnamed(shared_.journal_directory.c_str());
  if (!file) return file.status();
  Result<Fd> own = io::duplicate(*file);
  if (!own) return own.status();
  space_ = *std::move(own);
  space_until_ = 0;
  if (!has_space()) return Code::no_space;
  log_ = std::make_unique<journal::Log>(shared_.storage, shared_.next_owner, journal::Identity());
  const Status opened = log_->open(*std::move(file));
  if (!opened.ok()) log_.reset();
  return opened;
}

// --- storing ---

bool Overflow::full() { return segments_ >= segments_max || (!empty() && !has_space()); }

// A chunk goes to the outlet if there is no journal, or if the stored chunks come back now. It never
// overtakes an older part of it in the journal. A full journal makes all its chunks come back.
bool Overflow::takes(std::uint64_t index, bool sweeping) {
  if (!on_) return false;
  if (!wanted() && full()) want(everything);
  const bool refused = sweeping ? full() : wanted();
  if (!holds(index) && (refused || !prepare().ok())) return false;
  chunks_[index];
  return true;
}

void Overflow::begin_segment(Stored& stored) {
  stored.segments.push_back(log_->end());
  ++segments_;
}

bool Overflow::store(const Chunk& chunk, std::uint32_t& slot, std::uint32_t& byte) {
  const BlockPool& pool = buffer_.pool();
  Stored& stored = chunks_[chunk.index];
  if (storing_ != chunk.index) {
    storing_ = chunk.index;
    begin_segment(stored);
  }
  for (; slot < pool.slots(); ++slot, byte = 0) {
    const std::uint32_t block = chunk.slots[slot];
    if (block == LazyPool::none) continue;
    const std::uint64_t place =
        (chunk.index << pool.chunk_shift()) + (std::uint64_t{slot} << pool.block_shift());
    for (;;) {
      const cover::Range run = cover::next_run(pool, block, byte, buffer_.merge());
      if (run.begin == run.end) break;
      if (!log_->ready()) return false;
      if (stored.segments.back().bytes >= segment_bytes_max) begin_segment(stored);
      const std::uint64_t before = log_->file_bytes();
      log_->append(place + run.begin, {pool.data(block) + run.begin, run.end - run.begin});
      stored.segments.back().bytes += log_->file_bytes() - before;
      stored_bytes_ += log_->file_bytes() - before;
      byte = run.end;
    }
  }
  storing_ = no_chunk;
  return true;
}

// --- loading ---

// Calls f for the stored chunks that meet `extent`.
template <class F>
void Overflow::each_in(Extent extent, F f) {
  const std::uint32_t shift = buffer_.pool().chunk_shift();
  const auto end = extent.empty() ? chunks_.begin() : chunks_.upper_bound((extent.end - 1) >> shift);
  for (auto at = extent.empty() ? end : chunks_.lower_bound(extent.begin >> shift); at != end; ++at)
    f(at->second);
}

void Overflow::want(Extent extent) {
  each_in(extent, [this](Stored& stored) { wanted_ += std::exchange(stored.wanted, true) ? 0 : 1; });
}

std::uint32_t Overflow::watch(Extent extent, WaiterId waiter) {
  std::uint32_t count = 0;
  each_in(extent, [&](Stored& stored) {
    if (!stored.wanted) return;
    stored.waiters.push_back(waiter);
    ++count;
  });
  return count;
}

std::uint32_t Overflow::blocks_due() const {
  return loading_ == no_chunk ? 0 : buffer_.pool().slots() - buffer_.blocks_of(loading_);
}

// The newest segment of the chunk was read. Puts it into the buffer, below the newer bytes.
Status Overflow::take_segment(Stored& stored) {
  status_ = log_->take(
      [this](std::uint64_t offset, std::span<const std::byte> data) { buffer_.insert_under(offset, data); });
  forget_segment(stored);
  return status_;
}

void Overflow::forget_segment(Stored& stored) {
  stored_bytes_ -= stored.segments.back().bytes;
  stored.segments.pop_back();
  --segments_;
}

void Overflow::forget(std::map<std::uint64_t, Stored>::iterator place) {
  while (!place->second.segments.empty()) forget_segment(place->second);
  if (place->second.wanted) --wanted_;
  chunks_.erase(place);
}

Overflow::Progress Overflow::pump(bool may_start, const Budget& budget, bool passed_on, std::uint64_t& index,
                                  std::vector<WaiterId>& waiters) {
  starved_ = false;
  if (log_ && log_->reading()) return Progress::nothing;
  if (loading_ == no_chunk) {
    if (!wanted()) {
      if (empty() && log_ && !log_->idle()) log_->flush();
      return Progress::nothing;
    }
    if (!may_start) return Progress::nothing;
    starved_ = !budget.grants_return(buffer_.pool().free(), passed_on);
    if (starved_) return Progress::nothing;
    if (!log_->idle()) {
      log_->flush();
      return Progress::nothing;
    }
    const auto place = std::ranges::find_if(chunks_, [](const auto& chunk) { return chunk.second.wanted; });
    loading_ = place->first;
    log_->read(place->second.segments.back());
    return Progress::moved;
  }
  starved_ = log_->read_status().ok() && !budget.grants_rest(buffer_.pool().free(), blocks_due());
  if (starved_) return Progress::nothing;
  const auto place = chunks_.find(loading_);
  if (!take_segment(place->second).ok()) {  // the owner sees status() and calls drop()
    loading_ = no_chunk;
    return Progress::moved;
  }
  if (!place->second.segments.empty() && !buffer_.complete(loading_)) {
    log_->read(place->second.segments.back());
    return Progress::moved;
  }
  index = std::exchange(loading_, no_chunk);
  waiters.insert(waiters.end(), place->second.waiters.begin(), place->second.waiters.end());
  forget(place);
  return Progress::loaded;
}

Status Overflow::status() const { return !status_.ok() || !log_ ? status_ : log_->status(); }

std::vector<WaiterId> Overflow::drop() {
  std::vector<WaiterId> waiters;
  while (!chunks_.empty()) {
    const auto place = chunks_.begin();
    waiters.insert(waiters.end(), place->second.waiters.begin(), place->second.waiters.end());
    forget(place);
  }
  storing_ = no_chunk;
  loading_ = no_chunk;
  return waiters;
}

}  // namespace millrace::agent
