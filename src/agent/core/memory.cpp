// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/core/memory.hpp"

#include <algorithm>

namespace millrace::agent {

namespace {

// The largest window. In a small pool the window is a quarter of the pool.
constexpr std::uint64_t window_max_bytes = 16 * MiB;
static_assert(window_max_bytes >= 4 * record_max_most, "a lane that passes bytes on keeps a block");

}  // namespace

Status Memory::prepare(const FileSettings& settings) {
  const std::uint32_t record_max = static_cast<std::uint32_t>(settings.record_max_bytes);
  if (!shared_.pool) {
    const std::uint64_t bytes = std::min(settings.sort_buffer_bytes,
                                         std::max(shared_.pool_bound_bytes, rule_of("sort_buffer").least));
    shared_.pool = std::move(resting_);
    if (!shared_.pool || !shared_.pool->serves(bytes, settings.record_max_bytes))
      shared_.pool = std::make_unique<BlockPool>(bytes, settings.record_max_bytes);
    shared_.record_max_bytes = 0;
  }
  const BlockPool& pool = *shared_.pool;
  // With room for one record only, Core could not take a record while another one is written.
  if (pool.spans(record_max) * 2 > pool.blocks.count()) return Code::unsupported;
  allow_records(std::max(shared_.record_max_bytes, record_max));
  return {};
}

void Memory::allow_records(std::uint32_t most_bytes) {
  const BlockPool& pool = *shared_.pool;
  shared_.record_max_bytes = most_bytes;
  const std::uint64_t window =
      std::min<std::uint64_t>(pool.blocks.count() / 4, window_max_bytes >> pool.block_shift());
  const std::uint32_t spans = pool.spans(most_bytes);
  shared_.budget.resize(pool.all(), spans, pool.slots(),
                        std::max({static_cast<std::uint32_t>(window), spans, pool.slots()}));
}

void Memory::let_go() {
  shared_.pool->rest();
  resting_ = std::move(shared_.pool);
}

// The larger records of the refused file would otherwise keep room that records of other files need.
Status Memory::refuse(Status why, std::uint32_t record_max_before) {
  if (files_.any()) {
    allow_records(record_max_before);
    (void)share_out();
  } else {
    let_go();
  }
  return why;
}

// A chunk that comes back from the journal has no precedence over the share. Its memory may be free only
// after other agents have made progress, and they may wait until this lane takes a record.
bool Memory::ready(const Lane& lane) const {
  const FilePipeline& way = *lane.pipeline;
  return shared_.budget.grants_share(shared_.pool->free(), way.claims().in_use) && !way.throttled();
}

bool Memory::scarce() const { return shared_.budget.short_of_blocks(shared_.pool->free()); }

bool Memory::evict_one() {
  FilePipeline* largest = nullptr;
  std::uint32_t most = 0;
  files_.each_lane([&](const OpenFile&, const Lane& lane) {
    const std::uint32_t held = lane.pipeline->claims().evictable;
    if (held <= most) return;
    most = held;
    largest = lane.pipeline.get();
  });
  return largest != nullptr && largest->evict();
}

void Memory::make_room() {
  if (!shared_.pool) return;
  (void)share_out();
  while (shared_.budget.wants_departures(shared_.pool->free()) && evict_one()) {
  }
  make_way();
}

// Rule 5 of ADR 22.
void Memory::make_way() {
  const Budget& budget = shared_.budget;
  const BlockPool& pool = *shared_.pool;
  bool stopped = !budget.grants_rank(pool.free());
  files_.each_lane([&](const OpenFile&, const Lane& lane) {
    const Claims claims = lane.pipeline->claims();
    stopped |= lane.pipeline->throttled() || (claims.recalls && claims.starved);
  });
  if (!stopped) return;
  files_.each_lane([&](const OpenFile&, const Lane& lane) {
    FilePipeline& way = *lane.pipeline;
    while (lane.upstreams > 0 && way.departures().empty() &&
           !budget.grants_share(pool.free(), way.claims().in_use) && way.evict()) {
    }
  });
}

bool Memory::share_out() {
  lanes_.clear();
  files_.each_lane([&](const OpenFile& file, const Lane& lane) {
    const Claims claims = lane.pipeline->claims();
    lanes_.push_back({lane.upstreams > 0 && !file.replaced, claims.in_use, claims.due, claims.lands});
  });
  return shared_.budget.recount(lanes_);
}

}  // namespace millrace::agent
