// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "oracle.hpp"

#include <algorithm>

namespace millrace::sim {

std::byte Oracle::value(std::uint32_t write, std::uint64_t offset) {
  const std::uint64_t mixed = (write * 0x9E3779B97F4A7C15u) ^ (offset * 0xC2B2AE3D27D4EB4Fu);
  return static_cast<std::byte>((mixed * 0x165667B19E3779F9u) >> 56);
}

std::uint32_t Oracle::add(std::uint32_t rank, Extent extent) {
  writes_.push_back({rank, extent});
  return static_cast<std::uint32_t>(writes_.size());
}

void Oracle::fill(std::uint32_t write, std::uint64_t offset, std::span<std::byte> data) const {
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = value(write, offset + i);
}

std::vector<Extent> Oracle::acknowledge(std::uint32_t rank, bool stable, bool there) {
  std::vector<Extent> fresh;
  ++moment_;
  each_of(rank, [&](Write& write) {
    if (there && write.there == 0) write.there = moment_;
    if (stable ? write.stable : write.acknowledged != 0) return;
    if (write.acknowledged == 0) write.acknowledged = moment_;
    write.stable |= stable;
    fresh.push_back(write.extent);
  });
  return fresh;
}

void Oracle::acknowledge_old(std::uint32_t rank, std::uint64_t until_ns) {
  ++moment_;
  each_of(rank, [&](Write& write) {
    if (write.finished_ns <= until_ns && write.acknowledged == 0) write.acknowledged = moment_;
  });
}

// A new open need not see bytes that were ordered but not acknowledged.
void Oracle::begin_again(bool lost) {
  ++moment_;
  before_ = writes_.size();
  for (Write& write : writes_) {
    write.ordered = 0;
    if (lost && !write.stable) write.acknowledged = 0;
  }
}

std::vector<std::byte> Oracle::renew(std::uint64_t bytes) {
  constexpr std::uint32_t nobody = UINT32_MAX;  // in place of a rank
  ++moment_;
  old_ = writes_.size();
  writes_.push_back({nobody, {0, bytes}, 0, moment_, 0, moment_, true});
  before_ = writes_.size();
  std::vector<std::byte> contents(bytes);
  fill(static_cast<std::uint32_t>(before_), 0, contents);
  return contents;
}

void Oracle::order(std::uint32_t rank) {
  ++moment_;
  each_of(rank, [this](Write& write) {
    if (write.ordered == 0) write.ordered = moment_;
  });
}

void Oracle::forget_order(std::uint32_t rank) {
  each_of(rank, [](Write& write) { write.ordered = 0; });
}

std::string Oracle::check(std::span<const std::byte> file, Extent range, int strict, bool stable,
                          std::uint32_t as_of, std::uint32_t ordered_by) const {
  std::vector<std::uint32_t> last(range.size()), least(range.size());
  std::uint32_t number = 0;
  for (const Write& write : writes_) {
    if (++number <= old_) continue;
    const Extent both = intersection(write.extent, range);
    const auto begin = static_cast<std::ptrdiff_t>(both.begin - range.begin);
    const auto end = begin + static_cast<std::ptrdiff_t>(both.size());
    if (both.empty()) continue;
    std::fill(last.begin() + begin, last.begin() + end, number);
    const std::uint32_t since = strict < 0 || number <= before_ ? write.acknowledged : write.there;
    const bool acknowledged = since != 0 && since <= as_of;
    const bool own = static_cast<int>(write.rank) == strict && number > before_;
    const bool ordered = write.ordered != 0 && write.ordered <= ordered_by;
    const bool counts = (stable ? write.stable : acknowledged) || own || (strict >= 0 && ordered);
    if (counts) std::fill(least.begin() + begin, least.begin() + end, number);
  }
  for (std::size_t i = 0; i < last.size(); ++i) {
    const std::uint64_t offset = range.begin + i;
    const std::byte found = offset < file.size() ? file[offset] : std::byte{0};
    if (last[i] != 0 && found == value(last[i], offset)) continue;
    if ((least[i] == 0 || offset >= cut_) && found == std::byte{0}) continue;
    const auto fits = [&](std::uint32_t write) {
      const Extent extent = writes_[write - 1].extent;
      return offset >= extent.begin && offset < extent.end && found == value(write, offset);
    };
    bool right = false;
    for (std::uint32_t write = std::max(least[i], static_cast<std::uint32_t>(old_ + 1));
         write <= last[i] && !right; ++write)
      right = fits(write);
    if (!right) return complain(found, offset, least[i]);
  }
  return {};
}

std::string Oracle::complain(std::byte found, std::uint64_t offset, std::uint32_t least) const {
  std::string text = "at " + std::to_string(offset) + ": ";
  text += least == 0
              ? "nothing"
              : "write " + std::to_string(least) + " of rank " + std::to_string(writes_[least - 1].rank);
  text += " was acknowledged, but there is " + std::to_string(static_cast<unsigned>(found)) + ", as of";
  const std::size_t before = text.size();
  if (found == std::byte{0}) text += " no write";
  std::uint32_t number = 0;
  for (const Write& write : writes_) {
    ++number;
    if (offset >= write.extent.begin && offset < write.extent.end && found == value(number, offset))
      text += " write " + std::to_string(number) + " (rank " + std::to_string(write.rank) + ")";
  }
  if (text.size() == before) text += " no write there";
  return text;
}

}  // namespace millrace::sim
