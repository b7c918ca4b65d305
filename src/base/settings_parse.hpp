// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/settings.hpp"

// Functions that read and write single values, for settings.cpp.
namespace millrace::parse {

// Removes white space at both ends.
std::string_view trim(std::string_view text);

// 1 yes true on / 0 no false off, in any case of letters.
Result<bool> yes_no(std::string_view text);

// "90", "90s", "1500ms", "2min", "1h" -> milliseconds; a bare number is seconds.
Result<std::uint64_t> duration_ms(std::string_view text);

// A whole number without a unit.
Result<std::uint64_t> whole(std::string_view text);

// The non-empty parts between commas, trimmed.
std::vector<std::string> names(std::string_view text);

// True if a and b are equal, apart from the case of ASCII letters.
bool same_word(std::string_view a, std::string_view b);

}  // namespace millrace::parse
