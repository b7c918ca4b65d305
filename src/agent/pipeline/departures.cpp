// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/pipeline/departures.hpp"

#include <utility>

#include "agent/pipeline/cover.hpp"
#include "agent/pipeline/sort_buffer.hpp"

namespace millrace::agent {

namespace {

// Bounds of the departures, so that descriptions of tiny records do not need more memory than the records.
constexpr std::uint32_t segments_out_max = 16384;
constexpr std::size_t segments_per_put_max = 4096;
constexpr std::size_t departures_max = 1024;  // the paper's FIFO of 1,024 buffers

}  // namespace

Departures::Iterator Departures::add(Departure departure) {
  departure.since_ns = shared_.now_ns;
  shared_.budget.starts_to_leave(departure.blocks);
  blocks_ += departure.blocks;
  return list_.insert(list_.end(), std::move(departure));
}

Departures::Iterator Departures::leave(std::uint32_t id, std::vector<WaiterId> waiters) {
  const Chunk& chunk = shared_.pool->chunk(id);
  const std::uint64_t begin = chunk.index << shared_.pool->chunk_shift();
  return add({.place = {begin, begin + shared_.pool->chunk_bytes()},
              .chunk = id,
              .blocks = chunk.blocks,
              .waiters = std::move(waiters)});
}

void Departures::to_outlet(std::uint32_t chunk, std::vector<WaiterId> waiters) {
  to_outlet_.push_back(leave(chunk, std::move(waiters)));
}

void Departures::to_journal(std::uint32_t chunk) { to_journal_.push_back(leave(chunk, {})); }

void Departures::to_outlet_in_order(std::uint32_t chunk, std::vector<WaiterId> waiters) {
  to_outlet(chunk, std::move(waiters));
  to_outlet_.back()->swept = true;
  ++sweeping_;
}

void Departures::put_block(std::uint32_t block, Extent hull, std::span<const sink::SinkSegment> segments) {
  put(add({.place = hull, .block = block, .blocks = 1, .handed = true}), segments);
}

std::uint32_t Departures::watch(Extent extent, WaiterId waiter) {
  std::uint32_t count = 0;
  for (Departure& departure : list_) {
    if (!departure.place.intersects(extent)) continue;
    departure.waiters.push_back(waiter);
    ++count;
  }
  return count;
}

// Puts the next runs of a chunk into segments_. True if the chunk's last run is among them.
bool Departures::take_runs(Departure& departure) {
  const BlockPool& pool = *shared_.pool;
  const Chunk& chunk = pool.chunk(departure.chunk);
  for (; departure.slot < pool.slots(); ++departure.slot, departure.byte = 0) {
    const std::uint32_t block = chunk.slots[departure.slot];
    if (block == LazyPool::none) continue;
    const std::uint64_t place = departure.place.begin + (std::uint64_t{departure.slot} << pool.block_shift());
    for (;;) {
      const cover::Range run = cover::next_run(pool, block, departure.byte, merge_);
      if (run.begin == run.end) break;
      if (segments_.size() >= segments_per_put_max) return false;
      segments_.push_back({place + run.begin, pool.data(block) + run.begin, run.end - run.begin});
      departure.byte = run.end;
    }
  }
  return true;
}

void Departures::put(Iterator departure, std::span<const sink::SinkSegment> segments) {
  const auto count = static_cast<std::uint32_t>(segments.size());
  for (const sink::SinkSegment& segment : segments) bytes_out_ += segment.length;
  extents_out_ += count;
  puts_.emplace(outlet_.put(segments), Put{departure, count});
  ++departure->tickets;
  segments_out_ += count;
  unflushed_ = true;
  ++puts_made_;
}

bool Departures::hand_over(bool doomed) {
  bool moved = false;
  while (!to_outlet_.empty() && segments_out_ < segments_out_max) {
    const Iterator departure = to_outlet_.front();
    moved = true;
    segments_.clear();
    departure->handed = doomed || take_runs(*departure);
    if (!segments_.empty()) put(departure, segments_);
    if (!departure->handed) continue;
    to_outlet_.pop_front();
    if (departure->swept) {
      --sweeping_;
      mark(departure->place.end);
    }
    if (departure->tickets == 0) finish(departure);
  }
  return moved;
}

bool Departures::store(Overflow& journal, bool doomed) {
  bool moved = false;
  while (!to_journal_.empty()) {
    const Iterator departure = to_journal_.front();
    if (!doomed && journal.on() &&
        !journal.store(shared_.pool->chunk(departure->chunk), departure->slot, departure->byte)) {
      break;
    }
    to_journal_.pop_front();
    if (doomed || journal.on()) {
      finish(departure);
    } else {
      to_outlet_.push_back(departure);
    }
    moved = true;
  }
  return moved;
}

void Departures::flush() {
  if (std::exchange(unflushed_, false)) outlet_.flush();
}

bool Departures::done(const sink::Done& done) {
  const auto found = puts_.find(done.ticket);
  if (found == puts_.end()) return false;
  const Put put = found->second;
  puts_.erase(found);
  segments_out_ -= put.segments;
  --put.departure->tickets;
  if (put.departure->handed && put.departure->tickets == 0) finish(put.departure);
  return true;
}

void Departures::finish(Iterator departure) {
  shared_.budget.has_left(departure->blocks);
  blocks_ -= departure->blocks;
  if (departure->chunk != LazyPool::none) {
    free_chunk(*shared_.pool, departure->chunk);
  } else {
    shared_.pool->blocks.release(departure->block);
  }
  tell(departure->waiters);
  list_.erase(departure);
}

void Departures::begin_sweep() { marked_ = 0; }

void Departures::end_sweep() {
  for (const Iterator departure : to_outlet_) departure->swept = false;
  sweeping_ = 0;
}

void Departures::mark(std::uint64_t offset) {
  if (offset <= marked_ || !outlet_.carries()) return;
  marked_ = offset;
  outlet_.mark(offset);
  unflushed_ = true;
}

bool Departures::crowded() const {
  return list_.size() >= departures_max || segments_out_ >= segments_out_max;
}

}  // namespace millrace::agent
