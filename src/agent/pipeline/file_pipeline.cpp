// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/pipeline/file_pipeline.hpp"

#include <algorithm>
#include <cstring>

#include "agent/pipeline/cover.hpp"

namespace millrace::agent {

namespace {

// Bounds of what is on its way, so that descriptions of tiny records do not outgrow the records.
constexpr std::uint32_t segments_out_max = 16384;
constexpr std::size_t segments_per_put_max = 4096;
constexpr std::size_t staged_blocks_max = 1024;  // the paper's FIFO of 1,024 buffers

// What is to be passed on gains little by waiting: its neighbours are on other nodes, and a link that is idle
// now is time lost later.
constexpr std::uint64_t carried_hold_bytes = 4 * MiB;

// A storage that takes longer than this for what is on its way is slow: the buffer takes in what it can.
constexpr std::uint64_t storage_slow_ns = 25'000'000;

// After these every further write would fail too: what is buffered is dropped.
bool dooms(Code code) {
  return code == Code::no_space || code == Code::quota || code == Code::read_only || code == Code::access;
}

sink::SinkOptions sink_options(const FileSettings& settings, bool copy) {
  sink::SinkOptions options;
  if (copy) options.writeback_step_bytes = 0;  // it is gone before the disk needs to see it
  options.direct = settings.sink == SinkMode::direct;
  // Through the page cache: what is still in the processor's cache. Direct: what keeps a disk busy.
  options.write_max_bytes = options.direct ? 4 * MiB : MiB;
  options.datasync_interval_bytes = ends_on_disk(settings) ? settings.fdatasync_interval_bytes : 0;
  return options;
}

bool merges(const FileSettings& settings) {
  return settings.strategy == Strategy::automatic || settings.merge != 0;
}

}  // namespace

FilePipeline::FilePipeline(Shared& shared, const FileSettings& settings)
    : shared_(shared),
      settings_(settings),
      staging_(settings.strategy == Strategy::immediate),
      eager_(settings.strategy == Strategy::automatic),
      sort_(*shared.pool, merges(settings)) {}

Result<std::unique_ptr<FilePipeline>> FilePipeline::open(Shared& shared, Fd target,
                                                         const FileSettings& settings, LaneRoute way) {
  std::unique_ptr<FilePipeline> file(new FilePipeline(shared, settings));
  file->owner_ = shared.next_owner++;
  sink::SinkOptions options = sink_options(settings, way.keeps);
  if (settings.sink == SinkMode::automatic) options.meter = &shared.meters[way.device];
  auto sink = sink::Sink::open(shared.storage, std::move(target), file->owner_, options);
  if (!sink) return sink.status();
  file->outlet_ = make_outlet(*std::move(sink));
  if (way.next)
    file->outlet_ =
        make_tee(std::move(file->outlet_), make_outlet(std::move(way.next), settings.record_max_bytes));
  file->add_journal();
  return file;
}

std::unique_ptr<FilePipeline> FilePipeline::open(Shared& shared, std::unique_ptr<Carrier> next,
                                                 const FileSettings& settings) {
  std::unique_ptr<FilePipeline> file(new FilePipeline(shared, settings));
  file->outlet_ = make_outlet(std::move(next), settings.record_max_bytes);
  file->add_journal();
  return file;
}

void FilePipeline::add_journal() {
  if (settings_.strategy != Strategy::journal) return;
  overflow_ =
      std::make_unique<Overflow>(shared_.storage, shared_.next_owner, shared_.journal_directory, sort_);
}

FilePipeline::~FilePipeline() = default;

void FilePipeline::note(Extent extent) {
  if (extent.empty()) return;
  ++counters_.noted_extents;
  counters_.noted_bytes += extent.size();
  outlet_->note(extent);
}

void FilePipeline::told_time(std::uint64_t now_ns, std::uint64_t before_ns) {
  if (!departures_.empty() || !settling_.empty()) counters_.storage_busy_ns += now_ns - before_ns;
}

// --- staging: records leave in order of arrival ---

void FilePipeline::stage(std::uint64_t offset, std::span<const std::byte> data) {
  const std::uint32_t block_bytes = shared_.pool->block_bytes();
  while (!data.empty()) {
    if (stage_block_ == LazyPool::none) {
      stage_block_ = shared_.pool->blocks.allocate();
      stage_used_ = 0;
    }
    std::byte* place = shared_.pool->data(stage_block_) + stage_used_;
    const std::size_t size = std::min<std::size_t>(data.size(), block_bytes - stage_used_);
    std::memcpy(place, data.data(), size);
    stage_used_ += static_cast<std::uint32_t>(size);
    sink::Segment* last = stage_segments_.empty() ? nullptr : &stage_segments_.back();
    if (last != nullptr && last->offset + last->length == offset) {
      last->length += size;
    } else {
      stage_segments_.push_back({offset, place, size});
    }
    stage_hull_ = hull(stage_hull_, {offset, offset + size});
    offset += size;
    data = data.subspan(size);
    if (stage_used_ == block_bytes || stage_segments_.size() >= segments_per_put_max) depart_stage();
  }
}

void FilePipeline::depart_stage() {
  if (stage_block_ == LazyPool::none || stage_segments_.empty()) return;
  const auto departure = departures_.emplace(departures_.end());
  departure->place = stage_hull_;
  departure->block = stage_block_;
  departure->blocks = 1;
  departure->since_ns = shared_.now_ns;
  departure->handed = true;
  shared_.leaving_blocks += 1;
  leaving_blocks_ += 1;
  segments_ = stage_segments_;
  stage_segments_.clear();
  stage_block_ = LazyPool::none;
  stage_hull_ = {};
  put(departure);
  if (throttled()) shared_.advance_wanted = true;
}

bool FilePipeline::throttled() const {
  // A storage that keeps up gets ahead by more than this only where its threads lack a processor: ranks
  // that have to wait leave them theirs, and memory stays small and in cache.
  if (shared_.leaving_blocks > shared_.window_blocks && !departures_.empty() &&
      shared_.now_ns - departures_.front().since_ns < storage_slow_ns) {
    return true;
  }
  return staging_ && (departures_.size() >= staged_blocks_max || segments_out_ >= segments_out_max);
}

// --- departures ---

FilePipeline::Departures::iterator FilePipeline::leave(std::uint32_t id,
                                                       std::deque<Departures::iterator>& queue) {
  const Chunk& chunk = shared_.pool->chunk(id);
  const std::uint64_t begin = chunk.index << shared_.pool->chunk_shift();
  const auto departure = departures_.emplace(departures_.end());
  departure->place = {begin, begin + shared_.pool->chunk_bytes()};
  departure->chunk = id;
  departure->blocks = chunk.blocks;
  departure->since_ns = shared_.now_ns;
  shared_.leaving_blocks += chunk.blocks;
  leaving_blocks_ += chunk.blocks;
  queue.push_back(departure);
  return departure;
}

void FilePipeline::depart(Extent extent) {
  if (staging_) depart_stage();
  if (overflow_) return depart_stored(extent);
  chunks_.clear();
  sort_.take_all(extent, chunks_);
  for (const std::uint32_t id : chunks_) leave(id, to_hand_);
}

std::uint32_t FilePipeline::watch(Extent extent, WaiterId waiter) {
  std::uint32_t count = overflow_ ? overflow_->watch(extent, waiter) : 0;
  for (Departure& departure : departures_) {
    if (!departure.place.intersects(extent)) continue;
    departure.waiters.push_back(waiter);
    ++count;
  }
  return count;
}

void FilePipeline::take_finished(std::vector<WaiterId>& waiters) {
  waiters.insert(waiters.end(), finished_.begin(), finished_.end());
  finished_.clear();
}

bool FilePipeline::evict() {
  if (staging_) {
    const bool any = !stage_segments_.empty();
    depart_stage();
    return any;
  }
  const std::uint64_t stays = overflow_ ? overflow_->loading() : Overflow::no_chunk;
  const std::uint32_t id = sweep_ ? sort_.take_last(stays) : sort_.take_next(stays);
  if (id == LazyPool::none) return false;
  ++counters_.evictions;
  const Chunk& chunk = shared_.pool->chunk(id);
  if (overflow_ && stores(chunk.index)) {
    counters_.journaled_bytes += chunk.covered;
    leave(id, to_store_);
  } else {
    leave(id, to_hand_);
  }
  return true;
}

// Puts the next runs of a chunk into segments_; true when the chunk's last one is among them.
bool FilePipeline::hand_over(Departure& departure) {
  const BlockPool& pool = *shared_.pool;
  const Chunk& chunk = pool.chunk(departure.chunk);
  for (; departure.slot < pool.slots(); ++departure.slot, departure.byte = 0) {
    const std::uint32_t block = chunk.slots[departure.slot];
    if (block == LazyPool::none) continue;
    const std::uint64_t place = departure.place.begin + (std::uint64_t{departure.slot} << pool.block_shift());
    for (;;) {
      const cover::Range run = cover::next_run(pool, block, departure.byte, sort_.merge());
      if (run.begin == run.end) break;
      if (segments_.size() >= segments_per_put_max) return false;
      segments_.push_back({place + run.begin, pool.data(block) + run.begin, run.end - run.begin});
      departure.byte = run.end;
    }
  }
  return true;
}

void FilePipeline::put(Departures::iterator departure) {
  const auto count = static_cast<std::uint32_t>(segments_.size());
  for (const sink::Segment& segment : segments_) counters_.bytes_out += segment.length;
  counters_.extents_out += count;
  const sink::Ticket ticket = outlet_->put(segments_);
  segments_.clear();
  puts_.emplace(ticket, Put{departure, count});
  ++departure->tickets;
  segments_out_ += count;
  put_since_flush_ = true;
  ++puts_made_;
}

void FilePipeline::finish(Departures::iterator departure) {
  shared_.leaving_blocks -= departure->blocks;
  shared_.reserved_blocks += departure->blocks;  // until it is counted anew whose they are
  leaving_blocks_ -= departure->blocks;
  if (departure->chunk != LazyPool::none) {
    free_chunk(*shared_.pool, departure->chunk);
  } else {
    shared_.pool->blocks.release(departure->block);
  }
  finished_.insert(finished_.end(), departure->waiters.begin(), departure->waiters.end());
  departures_.erase(departure);
}

bool FilePipeline::pump() {
  bool moved = advance_sweep();
  moved |= overflow_ && pump_overflow();
  if (staging_ && !stage_segments_.empty()) {
    depart_stage();
    moved = true;
  }
  if (eager_ && sort_.complete_count() > 0) {
    chunks_.clear();
    sort_.take_complete(chunks_);
    counters_.complete_chunks += chunks_.size();
    for (const std::uint32_t id : chunks_) leave(id, to_hand_);
  }
  if (eager_ && outlet_->carries()) {
    while (std::uint64_t{sort_.blocks()} << shared_.pool->block_shift() > carried_hold_bytes && evict()) {
    }
  }
  while (!to_hand_.empty() && segments_out_ < segments_out_max) {
    const auto departure = to_hand_.front();
    moved = true;
    departure->handed = doomed_ || hand_over(*departure);
    if (!segments_.empty()) put(departure);
    if (!departure->handed) continue;
    to_hand_.pop_front();
    handed_over(*departure);
    if (departure->tickets == 0) finish(departure);
  }
  say_last_mark();
  // What the outlet holds back until it sees the next segment starts now: there is no next one.
  if (put_since_flush_) outlet_->flush();
  put_since_flush_ = false;
  return moved;
}

// --- completions ---

bool FilePipeline::owns(std::uint32_t owner) const {
  return owner == owner_ || (overflow_ && overflow_->owns(owner));
}

void FilePipeline::complete(const io::Completion& completion) {
  if (sink::owner_of(completion.token) == owner_) return outlet_->complete(completion);
  overflow_->complete(completion);
}

bool FilePipeline::collect() {
  const bool moved = outlet_->advance();
  done_.clear();
  outlet_->take(done_);
  for (const sink::Done& done : done_) {
    const auto found = puts_.find(done.ticket);
    if (found == puts_.end()) {
      end_settling(done);
      continue;
    }
    const Put put = found->second;
    puts_.erase(found);
    segments_out_ -= put.segments;
    --put.departure->tickets;
    if (!done.status.ok()) fail(done.status);
    if (put.departure->handed && put.departure->tickets == 0) finish(put.departure);
  }
  if (!outlet_->status().ok()) fail(outlet_->status());
  if (overflow_ && !overflow_->status().ok() && !doomed_) {  // a part of the file is lost with it
    fail(overflow_->status());
    doom();
  }
  return moved || !done_.empty();
}

// The first error stays. One that every later write would meet too frees what waits; after any other one
// the rest is tried, since it may be on a sound part of the disk.
void FilePipeline::fail(Status status) {
  if (error_.ok()) error_ = status;
  if (dooms(status.code())) doom();
}

void FilePipeline::doom() {
  if (!doomed_) drop_buffered();
  doomed_ = true;
}

void FilePipeline::drop_buffered() {
  if (stage_block_ != LazyPool::none) {
    counters_.records_dropped += stage_segments_.size();
    shared_.pool->blocks.release(stage_block_);
    stage_block_ = LazyPool::none;
    stage_segments_.clear();
    stage_hull_ = {};
  }
  for (std::uint32_t id = sort_.take_next(); id != LazyPool::none; id = sort_.take_next()) {
    free_chunk(*shared_.pool, id);
  }
  if (overflow_) overflow_->drop(finished_);
}

void FilePipeline::drop() {
  doom();
  outlet_->give_up();
}

sink::Ticket FilePipeline::settle(transport::Kind kind, Extent extent) {
  const sink::Ticket ticket = outlet_->settle(kind, extent);
  const bool stable = !outlet_->carries() || kind == transport::Kind::sync ||
                      (kind == transport::Kind::close && ends_on_disk(settings_));
  const bool covers = extent == everything && kind != transport::Kind::arrive;
  settling_.push_back({ticket, covers ? puts_made_ : 0, stable});
  return ticket;
}

void FilePipeline::end_settling(const sink::Done& done) {
  const auto found = std::ranges::find(settling_, done.ticket, &Settling::ticket);
  if (found == settling_.end()) return fetched_.push_back(done);
  if (done.status.ok()) {
    settled_puts_ = std::max(settled_puts_, found->puts);
    if (found->stable) stable_puts_ = std::max(stable_puts_, found->puts);
  } else {
    fail(done.status);
  }
  settled_.push_back(done.ticket);
  settling_.erase(found);
}

void FilePipeline::take_settled(std::vector<sink::Ticket>& tickets) {
  tickets.insert(tickets.end(), settled_.begin(), settled_.end());
  settled_.clear();
}

std::uint64_t FilePipeline::pending_bytes() const {
  std::uint64_t blocks = sort_.blocks();
  for (const Departure& departure : departures_) blocks += departure.blocks;
  return (blocks << shared_.pool->block_shift()) + stage_used_ + (overflow_ ? overflow_->stored_bytes() : 0);
}

bool FilePipeline::quiet() const {
  return !dirty() && settling_.empty() && settled_.empty() && fetched_.empty() && outlet_->idle();
}

}  // namespace millrace::agent
