// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

// A series is a row of files whose names differ only in digits. Its next files use the lessons from its
// earlier ones.
namespace millrace::client {

// Never 0.
std::uint64_t series_number(std::string_view path);

// Remembers, for the life of the process, which series of files are read after every few writes. The next
// file of such a series does not try the pipeline again. Thread safe.
class MixedSeries {
 public:
  void add(std::string_view path);
  bool has(std::string_view path) const;

 private:
  std::array<std::atomic<std::uint64_t>, 64> numbers_{};  // 0 = free; a new one replaces the oldest
  std::atomic<std::size_t> next_{0};
};

}  // namespace millrace::client
