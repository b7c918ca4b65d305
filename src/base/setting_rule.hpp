// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace millrace {

enum class SettingKind : std::uint8_t {
  choice,    // one of `words`
  toggle,    // yes or no
  bytes,     // a size
  count,     // a whole number
  duration,  // a time, in milliseconds
  paths,     // glob patterns, separated by ":"
  names,     // words, separated by ","
  path,
  key,  // short and printable: it becomes part of a socket's name
};

// The allowed values of a setting.
struct SettingRule {
  std::string_view name;
  SettingKind kind;
  std::span<const std::string_view> words = {};
  std::uint64_t least = 0;  // range of bytes, count and duration
  std::uint64_t most = 0;
  bool power_of_two = false;
  bool automatic = false;            // the word "auto" is allowed too: a size of 0, or no count
  std::string_view zero_means = {};  // if not empty: 0 is allowed although it is less than `least`
};

}  // namespace millrace
