// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/core/memory.hpp"

#include <algorithm>

namespace millrace::agent {

namespace {

constexpr std::uint64_t window_max_bytes = 16 * MiB;  // at least so much is kept free or on its way out

bool feeds(const OpenFile& file, const Lane& lane) { return lane.upstreams > 0 && !file.replaced; }

}  // namespace

Status Memory::prepare(const FileSettings& settings) {
  const std::uint32_t record_max = static_cast<std::uint32_t>(settings.record_max_bytes);
  if (!shared_.pool) {
    shared_.pool = std::make_unique<BlockPool>(settings.sort_buffer_bytes, settings.record_max_bytes);
    shared_.record_max_bytes = 0;
  }
  const BlockPool& pool = *shared_.pool;
  // Two of its records at least, or nothing would overlap.
  if (pool.spans(record_max) * 2 > pool.blocks.count()) return Code::unsupported;
  allow_records(std::max(shared_.record_max_bytes, record_max));
  return {};
}

void Memory::allow_records(std::uint32_t most_bytes) {
  const BlockPool& pool = *shared_.pool;
  shared_.record_max_bytes = most_bytes;
  const std::uint64_t window =
      std::min<std::uint64_t>(pool.blocks.count() / 4, window_max_bytes >> pool.block_shift());
  shared_.window_blocks =
      std::max({static_cast<std::uint32_t>(window), pool.spans(most_bytes), pool.slots()});
}

// Were room kept for the larger records of the refused file, there might be none for the others.
Status Memory::refuse(Status why, std::uint32_t record_max_before) {
  if (files_.any()) {
    allow_records(record_max_before);
    (void)share_out();
  } else {
    let_go();
  }
  return why;
}

bool Memory::takes(const FilePipeline& way) const {
  return way.claims().in_use + shared_.pool->spans(shared_.record_max_bytes) <= shared_.lane_blocks &&
         shared_.pool->has_room(shared_.record_max_bytes);
}

// Not even what comes back from the journal has precedence: it needs memory that may be stuck until other
// agents get on, and they until this lane takes more.
bool Memory::ready(const Lane& lane) const { return takes(*lane.pipeline) && !lane.pipeline->throttled(); }

bool Memory::scarce() const {
  return shared_.pool->blocks.available() <
         shared_.window_blocks + shared_.reserved_blocks + shared_.pool->spans(shared_.record_max_bytes);
}

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
  const BlockPool& pool = *shared_.pool;
  const auto short_of = [](const LazyPool& items) {
    return items.available() <= std::max(2U, items.count() / 8);
  };
  while (pool.blocks.available() + shared_.leaving_blocks < shared_.window_blocks + shared_.reserved_blocks ||
         (shared_.leaving_blocks < shared_.window_blocks &&
          (short_of(pool.fine_maps) || pool.chunks.available() <= shared_.window_blocks / 8 ||
           !pool.has_room(shared_.record_max_bytes, shared_.reserved_blocks)))) {
    if (!evict_one()) break;
  }
  make_way();
}

// What leaves, and what is to come back from a journal, may be stuck until other agents get on, and they may
// wait for a lane here. So while Shared::ready() is false for such a reason, a lane that agents feed lets go
// of what it has, and takes more: with a journal or the file it needs nobody for that, else only agents that
// are nearer to the file.
void Memory::make_way() {
  bool stopped = !shared_.pool->has_room(shared_.record_max_bytes, shared_.reserved_blocks);
  files_.each_lane([&](const OpenFile&, const Lane& lane) {
    const Claims claims = lane.pipeline->claims();
    stopped |= lane.pipeline->throttled() || (claims.recalls && claims.starved);
  });
  if (!stopped) return;
  files_.each_lane([&](const OpenFile&, const Lane& lane) {
    FilePipeline& way = *lane.pipeline;
    while (lane.upstreams > 0 && way.departures().empty() && !takes(way) && way.evict()) {
    }
  });
}

// Memory of lanes that agents upstream feed, and what is due to chunks that come back from journals.
bool Memory::share_out() {
  constexpr std::uint32_t most_blocks = 64;
  std::uint32_t fed = 0;
  shared_.lane_blocks = shared_.reserved_blocks = shared_.landing_blocks = 0;
  files_.each_lane([&](const OpenFile& file, const Lane& lane) {
    fed += feeds(file, lane) ? 1 : 0;
    const Claims claims = lane.pipeline->claims();
    shared_.reserved_blocks += claims.due;
    if (claims.lands) shared_.landing_blocks = shared_.pool->slots();
  });
  if (fed == 0) return true;
  const std::uint32_t least = 2 * shared_.pool->spans(shared_.record_max_bytes);
  const std::uint32_t usable = shared_.pool->usable_blocks();
  shared_.lane_blocks = std::max(least, std::min(most_blocks, usable / (4 * fed)));
  files_.each_lane([&](const OpenFile& file, const Lane& lane) {
    const std::uint32_t held = lane.pipeline->claims().in_use;
    if (feeds(file, lane) && held < shared_.lane_blocks)
      shared_.reserved_blocks += shared_.lane_blocks - held;
  });
  return std::uint64_t{fed} * least <= usable / 2;
}

}  // namespace millrace::agent
