// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/series.hpp"

#include <algorithm>

#include "base/settings.hpp"

namespace millrace::client {

namespace {

// Less of a file by a rank says nothing of its speed.
constexpr std::uint64_t stint_min_bytes = 2 * MiB;

}  // namespace

// FNV-1a over what is no digit.
std::uint64_t series_number(std::string_view path) {
  std::uint64_t number = 0xCBF29CE484222325u;
  for (const char c : path) {
    if (c >= '0' && c <= '9') continue;
    number = (number ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  }
  return number | 1;
}

void MixedSeries::add(std::string_view path) {
  if (has(path)) return;
  numbers_[next_.fetch_add(1, std::memory_order_relaxed) % numbers_.size()].store(series_number(path),
                                                                                  std::memory_order_relaxed);
}

bool MixedSeries::has(std::string_view path) const {
  const std::uint64_t number = series_number(path);
  return std::any_of(numbers_.begin(), numbers_.end(),
                     [number](const auto& one) { return one.load(std::memory_order_relaxed) == number; });
}

Costs Trials::costs(std::string_view path) const {
  const std::uint64_t number = series_number(path);
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_)
    if (entry.number == number) return {entry.pipeline.cost(), entry.direct.cost()};
  return {};
}

void Trials::add(std::string_view path, bool pipeline, std::uint64_t bytes, std::uint64_t ns) {
  const std::uint64_t number = series_number(path);
  const std::lock_guard lock(mutex_);
  auto entry =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.number == number; });
  if (entry == entries_.end()) {
    entry = entries_.begin() + static_cast<std::ptrdiff_t>(next_++ % entries_.size());
    *entry = {number, {}, {}};
  }
  Way& way = pipeline ? entry->pipeline : entry->direct;
  const double cost = static_cast<double>(ns) / (static_cast<double>(bytes) / static_cast<double>(MiB));
  way.last = {std::max<std::uint64_t>(static_cast<std::uint64_t>(cost), 1), way.last[0]};
}

void Stint::moved(bool pipeline, std::uint64_t bytes, bool nonblocking) {
  timed_.store(true, std::memory_order_relaxed);
  if (nonblocking) spoilt_.store(true, std::memory_order_relaxed);
  (pipeline ? pipeline_bytes_ : direct_bytes_).fetch_add(bytes, std::memory_order_relaxed);
}

void Stint::end(Trials& trials, std::string_view path, std::uint64_t total_bytes) const {
  const std::uint64_t pipeline = pipeline_bytes_.load(), direct = direct_bytes_.load();
  const std::uint64_t most = std::max(pipeline, direct);
  if (spoilt_.load() || most < stint_min_bytes || total_bytes - most > total_bytes / 8) return;
  trials.add(path, pipeline > direct, most, ns_.load());
}

}  // namespace millrace::client
