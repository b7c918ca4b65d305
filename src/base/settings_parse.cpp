// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "base/settings_parse.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace millrace {
namespace parse {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

constexpr std::array byte_units{
    Unit{"", 1},
    Unit{"b", 1},
    Unit{"k", KiB},
    Unit{"kb", KiB},
    Unit{"kib", KiB},
    Unit{"m", MiB},
    Unit{"mb", MiB},
    Unit{"mib", MiB},
    Unit{"g", GiB},
    Unit{"gb", GiB},
    Unit{"gib", GiB},
    Unit{"t", 1024 * GiB},
    Unit{"tb", 1024 * GiB},
    Unit{"tib", 1024 * GiB},
};

constexpr std::array time_units{
    Unit{"", 1000},    Unit{"ms", 1},       Unit{"s", 1000},      Unit{"sec", 1000},
    Unit{"m", 60'000}, Unit{"min", 60'000}, Unit{"h", 3'600'000},
};

// Reads a whole decimal number and one of `units`. A sign, a fraction, an overflow or other text is an error.
template <std::size_t N>
Result<std::uint64_t> with_unit(std::string_view text, const std::array<Unit, N>& units) {
  text = trim(text);
  std::uint64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return Code::invalid;
  const std::string_view suffix = trim({rest, static_cast<std::size_t>(text.data() + text.size() - rest)});
  for (const Unit& unit : units) {
    if (!same_word(suffix, unit.name)) continue;
    if (number > UINT64_MAX / unit.factor) return Code::invalid;
    return number * unit.factor;
  }
  return Code::invalid;
}

}  // namespace

std::string_view trim(std::string_view text) {
  constexpr std::string_view blank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

Result<bool> yes_no(std::string_view text) {
  text = trim(text);
  for (const std::string_view word : {"1", "yes", "true", "on"}) {
    if (same_word(text, word)) return true;
  }
  for (const std::string_view word : {"0", "no", "false", "off"}) {
    if (same_word(text, word)) return false;
  }
  return Code::invalid;
}

Result<std::uint64_t> duration_ms(std::string_view text) { return with_unit(text, time_units); }
Result<std::uint64_t> whole(std::string_view text) { return with_unit(text, std::array{Unit{"", 1}}); }

std::vector<std::string> names(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view part = trim(text.substr(0, end));
    if (!part.empty()) parts.emplace_back(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

}  // namespace parse

Result<std::uint64_t> parse_bytes(std::string_view text) { return parse::with_unit(text, parse::byte_units); }

}  // namespace millrace
