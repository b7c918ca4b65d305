// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/costs/series.hpp"

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

}  // namespace millrace::client
