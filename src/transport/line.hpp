// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "transport/layout.hpp"

namespace millrace::transport {

// For the agent. Cuts the text at the size of the line.
inline void write_line(Line& line, std::string_view text) {
  const std::uint32_t number = line.number.load(std::memory_order_relaxed);
  line.number.store(number + 1, std::memory_order_seq_cst);
  const std::size_t bytes = std::min(text.size(), sizeof line.text - 1);
  std::memcpy(line.text, text.data(), bytes);
  line.text[bytes] = 0;
  line.number.store(number + 2, std::memory_order_seq_cst);
}

// True if a rank has taken the last line, or there was none.
inline bool line_is_free(const Line& line) { return line.told.load() == line.number.load(); }

// For a rank. Each line goes to one rank.
inline std::optional<std::string> take_line(Line& line) {
  const std::uint32_t number = line.number.load(std::memory_order_seq_cst);
  if (number % 2 != 0 || line.told.load(std::memory_order_relaxed) == number) return std::nullopt;
  if (line.told.exchange(number) == number) return std::nullopt;
  char text[sizeof line.text];
  std::memcpy(text, line.text, sizeof text);
  if (line.number.load(std::memory_order_seq_cst) != number) return std::nullopt;
  text[sizeof text - 1] = 0;
  return std::string(text);
}

}  // namespace millrace::transport
