// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/pipeline/overflow.hpp"

#include <algorithm>
#include <utility>

#include "agent/pipeline/cover.hpp"
#include "io/posix/descriptor.hpp"
#include "io/posix/unnamed.hpp"
#include "sink/sink.hpp"

namespace millrace::agent {

namespace {

constexpr std::uint64_t segment_bytes_max = 1 * MiB;  // a segment ends with the record that reaches this
constexpr std::uint64_t room_step_bytes = 4 * MiB;    // one check of free space for so many bytes
constexpr std::uint64_t plenty_bytes = 256 * MiB;     // more free room than this needs no reservation

// Creates the file if it is not open. Gives it room for `needed` bytes behind `size`. Waits for the disk.
Status make_room(Fd& file, const std::string& directory, std::uint64_t size, std::uint64_t needed) {
  if (!file.valid()) {
    Result<Fd> made = io::create_unnamed(directory.c_str());
    if (!made) return made.status();
    file = *std::move(made);
  }
  const Result<std::uint64_t> left = io::free_bytes(file);
  // File systems keep some of their free space for themselves.
  if (!left || *left >= needed + plenty_bytes) return {};
  const Status reserved = io::reserve(file, size, needed);
  const bool has_room = reserved.code() == Code::unsupported ? *left >= needed : reserved.ok();
  return has_room ? Status() : Status(Code::no_space);
}

}  // namespace

Overflow::~Overflow() {
  log_.reset();
  io::let_go(shared_.storage, std::move(*file_));
}

// --- the file and its room ---

// An empty journal begins anew, in the same file: what a file system frees is often available only later.
// The room is for the next step, for twice the bytes of the pool (small records need headers), and for the
// bytes in the writer.
void Overflow::prepare() {
  if (log_ && empty() && log_->idle()) {
    log_->rewind();
    no_room_ = false;
  }
  if (preparing_ || file_bytes() + room_step_bytes / 2 < room_until_) return;
  preparing_ = true;
  room_from_ = file_bytes();
  io::Request request;
  request.op = io::Op::call;
  request.token = std::uint64_t{own_number_} << 32;
  request.act = [file = file_, directory = shared_.journal_directory, size = room_from_,
                 needed = 2 * buffer_.pool().capacity_bytes() + 2 * room_step_bytes] {
    return make_room(*file, directory, size, needed);
  };
  shared_.storage.submit(std::move(request));
}

// Without room at the disk, there is still enough for the chunks in memory.
bool Overflow::has_room() {
  if (!no_room_) prepare();
  return no_room_ || file_bytes() < room_until_;
}

Status Overflow::open() {
  Result<Fd> own = io::duplicate(*file_);
  if (!own) return own.status();
  log_ = std::make_unique<journal::Log>(shared_.storage, shared_.next_owner, journal::Identity());
  const Status opened = log_->open(*std::move(own));
  if (!opened.ok()) log_.reset();
  return opened;
}

void Overflow::complete(const io::Completion& completion) {
  if (sink::owner_of(completion.token) != own_number_) return log_->complete(completion);
  preparing_ = false;
  ++prepared_;
  const Status status = completion.status.ok() && !log_ ? open() : completion.status;
  no_room_ = !status.ok() && file_bytes() >= room_from_;  // the file may have begun anew meanwhile
  if (status.ok()) room_until_ = room_from_ + room_step_bytes;
  if (log_) return;
  on_ = false;
  problem_ = "no journal in " + shared_.journal_directory + ": " +
             (status.code() == Code::no_space ? "too little room" : status.describe());
  want(everything);
}

// --- storing ---

// A chunk goes to the outlet if there is no journal, or if the stored chunks come back now. It never
// overtakes an older part of it in the journal. A full journal makes all its chunks come back.
bool Overflow::takes(std::uint64_t index, bool sweeping) {
  if (on_) prepare();
  if (!wanted() && full()) want(everything);
  if (holds(index)) return true;
  if (!on_ || (sweeping ? full() : wanted())) return false;
  chunks_[index];
  return true;
}

void Overflow::begin_segment(Stored& stored) {
  stored.segments.push_back({file_bytes(), log_->records(), 0});
  ++segments_;
}

bool Overflow::store(const Chunk& chunk, std::uint32_t& slot, std::uint32_t& byte) {
  if (!log_) return false;
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
      if (!has_room() || !log_->ready()) return false;
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

void Overflow::forget(Chunks::iterator place) {
  while (!place->second.segments.empty()) forget_segment(place->second);
  if (place->second.wanted) --wanted_;
  chunks_.erase(place);
}

Overflow::Pumped Overflow::pump(bool may_start, const Budget& budget, bool passed_on, std::uint64_t& index,
                                std::vector<WaiterId>& waiters) {
  starved_ = false;
  if (log_ && log_->reading()) return Pumped::nothing;
  if (loading_ == no_chunk) {
    if (!wanted()) {
      if (empty() && log_ && !log_->idle()) log_->flush();
      return Pumped::nothing;
    }
    if (!may_start) return Pumped::nothing;
    if (!log_) return come_back(chunks_.begin(), index, waiters);
    starved_ = !budget.grants_return(buffer_.pool().free(), passed_on);
    if (starved_) return Pumped::nothing;
    if (!log_->idle()) {
      log_->flush();
      return Pumped::nothing;
    }
    const auto place = std::ranges::find_if(chunks_, [](const auto& chunk) { return chunk.second.wanted; });
    loading_ = place->first;
    log_->read(place->second.segments.back());
    return Pumped::moved;
  }
  starved_ = log_->read_status().ok() && !budget.grants_rest(buffer_.pool().free(), blocks_due());
  if (starved_) return Pumped::nothing;
  const auto place = chunks_.find(loading_);
  if (!take_segment(place->second).ok()) {  // the owner sees status() and calls drop()
    loading_ = no_chunk;
    return Pumped::moved;
  }
  if (!place->second.segments.empty() && !buffer_.complete(loading_)) {
    log_->read(place->second.segments.back());
    return Pumped::moved;
  }
  loading_ = no_chunk;
  return come_back(place, index, waiters);
}

Overflow::Pumped Overflow::come_back(Chunks::iterator place, std::uint64_t& index,
                                     std::vector<WaiterId>& waiters) {
  index = place->first;
  waiters.insert(waiters.end(), place->second.waiters.begin(), place->second.waiters.end());
  forget(place);
  return Pumped::loaded;
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
