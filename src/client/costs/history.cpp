// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/costs/history.hpp"

#include <algorithm>

namespace millrace::client {

namespace {

// FNV-1a over all characters except digits. Never 0.
std::uint64_t series_of(std::string_view path) {
  std::uint64_t number = 0xCBF29CE484222325u;
  for (const char c : path) {
    if (c >= '0' && c <= '9') continue;
    number = (number ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  }
  return number | 1;
}

}  // namespace

History::Past History::of(std::string_view path) const {
  const std::uint64_t series = series_of(path);
  const std::lock_guard lock(mutex_);
  const auto entry = std::ranges::find(entries_, series, &Entry::series);
  return entry == entries_.end() ? Past() : entry->past;
}

void History::read(std::string_view path, std::uint64_t bytes, std::uint64_t size) {
  if (size == 0) return;
  const double share = static_cast<double>(bytes) * 1000 / static_cast<double>(size);
  const std::lock_guard lock(mutex_);
  past_of(series_of(path)).share = static_cast<std::uint32_t>(std::min(share, double{unknown - 1}));
}

void History::wrote(std::string_view path, const Factors& measured) {
  if (measured.library == 0 && measured.agent == 0) return;
  const std::lock_guard lock(mutex_);
  Factors& known = past_of(series_of(path)).factors;
  if (measured.library != 0) known.library = measured.library;
  if (measured.agent != 0) known.agent = measured.agent;
}

History::Past& History::past_of(std::uint64_t series) {
  auto entry = std::ranges::find(entries_, series, &Entry::series);
  if (entry == entries_.end()) {
    entry = entries_.begin() + static_cast<std::ptrdiff_t>(next_++ % entries_.size());
    *entry = {.series = series};
  }
  return entry->past;
}

}  // namespace millrace::client
