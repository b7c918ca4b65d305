// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/policy.hpp"

#include <algorithm>

namespace millrace::client {

namespace {

bool is_direct_call(const Settings& settings, const char* name) {
  return std::find(settings.direct_calls.begin(), settings.direct_calls.end(), name) !=
         settings.direct_calls.end();
}

}  // namespace

Choice choose(const Settings& process, const FileSettings& file, const Transfer& transfer) {
  if (!process.direct_calls.empty()) {
    if (is_direct_call(process, transfer.collective ? "collective" : "independent")) {
      return {false, "such calls are set to stay direct"};
    }
    if (transfer.nonblocking && is_direct_call(process, "nonblocking")) {
      return {false, "non-blocking calls are set to stay direct"};
    }
  }
  if (file.strategy != Strategy::automatic) return {true, "the strategy was chosen"};
  if (transfer.bytes == 0) return {true, "nothing to write"};
  const std::uint64_t mean = transfer.bytes / std::max<std::uint64_t>(transfer.pieces, 1);
  if (process.direct_above_bytes != 0) {
    return mean < process.direct_above_bytes ? Choice{true, "pieces below direct_above"}
                                             : Choice{false, "pieces of direct_above or more"};
  }
  if (mean < direct_above_default) return {true, "small pieces"};
  if (transfer.made_stable && mean < stable_direct_above) return {true, "pieces that go to the disk at once"};
  if (transfer.pieces >= many_pieces && mean < many_pieces_direct_above) return {true, "many pieces"};
  return {false, "large pieces"};
}

// FNV-1a over what is no digit; never 0.
std::uint64_t MixedSeries::number_of(std::string_view path) {
  std::uint64_t number = 0xCBF29CE484222325u;
  for (const char c : path) {
    if (c >= '0' && c <= '9') continue;
    number = (number ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  }
  return number | 1;
}

void MixedSeries::add(std::string_view path) {
  if (has(path)) return;
  numbers_[next_.fetch_add(1, std::memory_order_relaxed) % numbers_.size()].store(number_of(path),
                                                                                  std::memory_order_relaxed);
}

bool MixedSeries::has(std::string_view path) const {
  const std::uint64_t number = number_of(path);
  return std::any_of(numbers_.begin(), numbers_.end(),
                     [number](const auto& one) { return one.load(std::memory_order_relaxed) == number; });
}

bool FlushWatch::flushed(std::uint64_t bytes) {
  small_in_a_row_ = bytes < small_flush_bytes ? small_in_a_row_ + 1 : 0;
  return small_in_a_row_ > small_flushes_max;
}

}  // namespace millrace::client
