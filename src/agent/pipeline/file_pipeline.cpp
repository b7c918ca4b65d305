// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/pipeline/file_pipeline.hpp"

#include <algorithm>
#include <utility>

namespace millrace::agent {

namespace {

// Bytes between two fdatasync calls for a file that ends on the disk.
constexpr std::uint64_t datasync_interval_bytes = 64 * MiB;

// True if every further write would fail too. The buffered bytes are then dropped.
bool dooms(Code code) {
  return code == Code::no_space || code == Code::quota || code == Code::read_only || code == Code::access;
}

sink::SinkOptions sink_options(const FileSettings& settings, bool copy) {
  sink::SinkOptions options;
  if (copy) options.writeback_step_bytes = 0;  // the copy is removed before it has to be on the disk
  options.direct = settings.sink == SinkMode::direct;
  // Through the page cache, a size that fits the processor's cache. Direct, a size that keeps a disk busy.
  options.write_max_bytes = options.direct ? 4 * MiB : MiB;
  options.datasync_interval_bytes = ends_on_disk(settings) ? datasync_interval_bytes : 0;
  return options;
}

}  // namespace

bool merges(const FileSettings& settings) {
  return settings.strategy == Strategy::automatic || settings.merge != 0;
}

FilePipeline::FilePipeline(Shared& shared, const FileSettings& settings, std::uint32_t owner,
                           std::unique_ptr<Outlet> outlet)
    : shared_(shared),
      settings_(settings),
      immediate_(settings.strategy == Strategy::immediate),
      eager_(settings.strategy == Strategy::automatic),
      owner_(owner),
      sort_(*shared.pool, merges(settings)),
      arrivals_(*shared.pool),
      outlet_(std::move(outlet)),
      journal_(shared, sort_, settings.strategy == Strategy::journal),
      departures_(shared, *outlet_, sort_.merge()),
      sweep_(shared, sort_, journal_, departures_),
      settlements_(*outlet_, departures_) {}

Result<std::unique_ptr<FilePipeline>> FilePipeline::open(Shared& shared, Fd target,
                                                         const FileSettings& settings, LaneRoute way) {
  std::uint32_t owner = 0;
  std::unique_ptr<Outlet> next, outlet;
  if (way.next) next = make_outlet(std::move(way.next), settings.record_max_bytes);
  if (!next || way.keeps) {
    owner = shared.next_owner++;
    sink::SinkOptions options = sink_options(settings, way.keeps);
    if (settings.sink == SinkMode::automatic) options.meter = &shared.meters[way.device];
    auto sink = sink::Sink::open(shared.storage, std::move(target), owner, options);
    if (!sink) return sink.status();
    outlet = make_outlet(*std::move(sink));
  }
  if (outlet && next) {
    outlet = make_tee(std::move(outlet), std::move(next));
  } else if (next) {
    outlet = std::move(next);
  }
  return std::unique_ptr<FilePipeline>(new FilePipeline(shared, settings, owner, std::move(outlet)));
}

void FilePipeline::note(Extent extent) {
  if (extent.empty()) return;
  ++counters_.noted_extents;
  counters_.noted_bytes += extent.size();
  outlet_->note(extent);
}

void FilePipeline::write_in_order(std::uint64_t offset, std::span<const std::byte> data) {
  while (!data.empty()) {
    const std::size_t size = arrivals_.add(offset, data);
    offset += size;
    data = data.subspan(size);
    if (arrivals_.full()) (void)depart_arrivals();
  }
}

bool FilePipeline::depart_arrivals() {
  if (arrivals_.empty()) return false;
  departures_.put_block(arrivals_.block(), arrivals_.hull(), arrivals_.segments());
  arrivals_.let_go();
  if (throttled()) shared_.advance_wanted = true;
  return true;
}

// A chunk with an older part in the journal waits in the buffer until that part has come back.
std::uint32_t FilePipeline::depart(Extent extent, WaiterId waiter) {
  (void)depart_arrivals();
  journal_.want(extent);
  indices_.clear();
  sort_.find(extent, indices_);
  for (const std::uint64_t index : indices_) {
    if (!journal_.holds(index)) departures_.to_outlet(sort_.take_at(index));
  }
  return waiter == no_waiter ? 0 : journal_.watch(extent, waiter) + departures_.watch(extent, waiter);
}

bool FilePipeline::evict() {
  if (immediate_) return depart_arrivals();
  const std::uint32_t id = sweep_.active() ? sort_.take_last(journal_.loading())
                                           : sort_.take_next(shared_.budget.window(), journal_.loading());
  if (id == LazyPool::none) return false;
  ++counters_.evictions;
  const Chunk& chunk = shared_.pool->chunk(id);
  if (journal_.takes(chunk.index, sweep_.active())) {
    counters_.journaled_bytes += chunk.covered;
    departures_.to_journal(id);
  } else {
    departures_.to_outlet(id);
  }
  return true;
}

bool FilePipeline::pump(bool may_write) {
  bool moved = sweep_.advance();
  moved |= recall();
  moved |= depart_arrivals();
  if (eager_ && sort_.complete_count() > 0) {
    chunks_.clear();
    sort_.take_complete(chunks_);
    counters_.complete_chunks += chunks_.size();
    for (const std::uint32_t id : chunks_) departures_.to_outlet(id);
  }
  if (eager_ && carries()) {
    while (sort_.blocks() > shared_.budget.passed_on_above() && evict()) {
    }
  }
  if (!may_write) return moved;
  moved |= departures_.hand_over(doomed_);
  sweep_.say_mark();
  departures_.flush();
  return moved;
}

// Stores chunks in the journal, and loads wanted chunks from it.
bool FilePipeline::recall() {
  bool moved = departures_.store(journal_, doomed_);
  std::uint64_t index = 0;
  std::vector<WaiterId> waiters;
  for (;;) {
    const std::uint32_t due = journal_.blocks_due();
    const Overflow::Pumped progress =
        journal_.pump(!departures_.storing(), shared_.budget, carries(), index, waiters);
    shared_.budget.owes(std::max(due, journal_.blocks_due()) - due);
    if (progress != Overflow::Pumped::loaded) return moved || progress == Overflow::Pumped::moved;
    moved = true;
    sweep_.loaded(index, waiters);
  }
}

void FilePipeline::complete(const io::Completion& completion) {
  const std::uint32_t owner = sink::owner_of(completion.token);
  if (owner == owner_) {
    outlet_->complete(completion);
  } else if (journal_.owns(owner)) {
    journal_.complete(completion);
  }
}

bool FilePipeline::collect(std::uint64_t elapsed_ns) {
  if (!departures_.empty() || !settlements_.empty()) counters_.storage_busy_ns += elapsed_ns;
  const bool moved = outlet_->advance();
  done_.clear();
  outlet_->take(done_);
  for (const sink::Done& done : done_) fail(departures_.done(done) ? done.status : settlements_.end(done));
  fail(outlet_->status());
  if (!journal_.status().ok() && !doomed_) {  // the bytes in the journal are lost
    fail(journal_.status());
    drop();
  }
  return moved || !done_.empty();
}

// Keeps the first error. After an error that every later write would meet, the pipeline drops its bytes.
// After any other error it tries the rest, which may be on a sound part of the disk.
void FilePipeline::fail(Status status) {
  if (error_.ok()) error_ = status;
  if (dooms(status.code())) drop();
}

void FilePipeline::drop() {
  if (std::exchange(doomed_, true)) return;
  counters_.records_dropped += arrivals_.segments().size();
  if (arrivals_.blocks() > 0) shared_.pool->blocks.release(arrivals_.block());
  arrivals_.let_go();
  for (std::uint32_t id = sort_.take_last(); id != LazyPool::none; id = sort_.take_last()) {
    free_chunk(*shared_.pool, id);
  }
  departures_.tell(journal_.drop());
}

bool FilePipeline::secured() const {
  if (holds() || !error_.ok()) return false;
  return ends_on_disk(settings_) ? settlements_.stable() : !carries() || !settlements_.unsettled();
}

Claims FilePipeline::claims() const {
  const BlockPool& pool = *shared_.pool;
  const std::uint32_t held = sort_.blocks() + departures_.blocks();
  const auto complete = static_cast<std::uint32_t>(sort_.complete_count());
  return {.in_use = held + arrivals_.blocks(),
          .evictable = sort_.blocks() + (arrivals_.empty() ? 0 : 1),
          .due = journal_.blocks_due(),
          .recalls = journal_.wanted() && !sweep_.active(),
          .starved = journal_.starved(),
          .lands = !journal_.empty() && !carries(),
          .partial = eager_ ? sort_.blocks() - complete * pool.slots() : 0,
          .pending_bytes =
              (std::uint64_t{held} << pool.block_shift()) + arrivals_.bytes() + journal_.stored_bytes()};
}

}  // namespace millrace::agent
