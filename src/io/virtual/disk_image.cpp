// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/virtual/disk_image.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace millrace::io {

namespace {
constexpr std::uint64_t times_stay_ns = 5'000'000'000;  // in the cache
}  // namespace

void DiskImage::forget() {
  device = 0;
  inode = 0;
  kept.reset();
  contents.clear();
  stable.clear();
  dirty.clear();
}

void DiskImage::fill(std::span<const std::byte> bytes) {
  dirty.clear();
  contents.assign(bytes.begin(), bytes.end());
  stable = contents;
}

void DiskImage::truncate(std::uint64_t bytes) {
  contents.resize(std::min<std::uint64_t>(bytes, contents.size()));
  stable.resize(std::min<std::uint64_t>(bytes, stable.size()));
}

bool DiskImage::lock(const DiskProcess& owner, Extent of) {
  if (locked_for(owner, of)) return false;
  locks.push_back({&owner, of});
  return true;
}

bool DiskImage::locked_for(const DiskProcess& process, Extent extent) const {
  return std::ranges::any_of(locks, [&process, extent](const Lock& one) {
    return one.owner != &process && one.extent.intersects(extent);
  });
}

void DiskImage::unlock(const DiskProcess& owner) {
  std::erase_if(locks, [&owner](const Lock& one) { return one.owner == &owner; });
}

// Copies bytes from the cache to the disk.
void DiskImage::settle(Extent extent) {
  const Extent done = intersection(extent, {0, contents.size()});
  if (stable.size() < done.end) stable.resize(done.end);
  if (!done.empty()) std::memcpy(stable.data() + done.begin, contents.data() + done.begin, done.size());
}

void DiskImage::take_over(std::uint32_t by_node, Extent extent) {
  for (const Dirty& one : dirty) {
    const Extent both = intersection(one.extent, extent);
    if (one.node != by_node && !both.empty()) settle(both);
  }
}

void DiskImage::advance(std::uint64_t now_ns) {
  while (!dirty.empty() && dirty.front().until_ns <= now_ns) {
    settle(dirty.front().extent);
    dirty.pop_front();
  }
}

void DiskImage::lose_dirty(std::uint32_t of_node) {
  std::erase_if(dirty, [of_node](const Dirty& one) { return one.node == of_node; });
  ++losses[of_node];
}

bool DiskImage::has_accepted(const DiskProcess& of) const {
  return std::ranges::any_of(dirty, [&of](const Dirty& one) { return one.accepted && one.writer == &of; });
}

void DiskImage::bring_to_server(const DiskProcess& of, bool refused, Timeline& chance) {
  for (auto one = dirty.begin(); one != dirty.end(); ++one) {
    if (!one->accepted || one->writer != &of) continue;
    if (refused) roll_back(one, chance);
    one->accepted = false;
  }
}

void DiskImage::lose_cache(std::uint32_t of_node, std::uint64_t wall_ns, Timeline& chance) {
  for (auto one = dirty.begin(); one != dirty.end(); ++one) {
    if (one->node == of_node) roll_back(one, chance);
  }
  // A datasync does not bring the time of the last write to the disk.
  const bool lately = changed_ns + times_stay_ns > wall_ns;
  if (lately && chance.chance(2)) changed_ns -= 1;
  std::erase_if(dirty, [of_node](const Dirty& one) { return one.node == of_node; });
}

// Sets some sectors of a lost write back to the disk's contents, by chance. Bytes that another node has
// written since do not change.
void DiskImage::roll_back(std::list<Dirty>::const_iterator lost, Timeline& chance) {
  std::vector<Extent> since;
  for (auto later = std::next(lost); later != dirty.cend(); ++later) {
    if (later->node != lost->node && later->extent.intersects(lost->extent)) since.push_back(later->extent);
  }
  const auto is_newer = [&since](std::uint64_t byte) {
    return std::ranges::any_of(since, [byte](Extent one) { return one.begin <= byte && byte < one.end; });
  };
  const Extent extent = lost->extent;
  for (std::uint64_t at = extent.begin; at < extent.end; at = (at / sector + 1) * sector) {
    if (chance.chance(2)) continue;
    const std::uint64_t until = std::min((at / sector + 1) * sector, extent.end);
    for (std::uint64_t byte = at; byte < until; ++byte) {
      if (!is_newer(byte)) contents[byte] = byte < stable.size() ? stable[byte] : std::byte{0};
    }
  }
}

}  // namespace millrace::io
