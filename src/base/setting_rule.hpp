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

enum class SettingUse : std::uint8_t {
  process,
  hint,      // a setting of the process that a file's hint may change
  internal,  // for `millrace run`, tests and measurements
};

// The allowed values of a setting.
struct SettingRule {
  std::string_view name;
  SettingKind kind;
  std::span<const std::string_view> words = {};
  std::uint64_t least = 0;  // range of bytes, count and duration
  std::uint64_t most = 0;
  bool automatic = false;  // the word "auto" is allowed too: a size of 0, or no count
  SettingUse use = SettingUse::process;
  std::string_view allowed;  // in words
};

}  // namespace millrace
