// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/costs/series.hpp"

#include <algorithm>

namespace millrace::client {

// FNV-1a over all characters except digits.
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

}  // namespace millrace::client
