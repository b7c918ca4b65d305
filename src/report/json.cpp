// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "report/json.hpp"

#include <cmath>
#include <cstddef>
#include <cstdio>

namespace millrace::report {

namespace {

// The length of the UTF-8 sequence at the begin of `text`; 0 if there is none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return 0;
  }
  const unsigned second = byte(1);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool no_character = (first == 0xed && second >= 0xa0) || (first == 0xf4 && second >= 0x90);
  return overlong || no_character ? 0 : length;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const char first = text.front();
    const std::size_t length = sequence_length(text);
    if (length == 0) {
      out += "\\ufffd";
    } else if (first == '"' || first == '\\') {
      out += {'\\', first};
    } else if (static_cast<unsigned char>(first) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(first));
      out += code;
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out + "\"";
}

}  // namespace

JsonObject& JsonObject::raw(std::string_view name, std::string_view value) {
  members_ += members_.empty() ? "" : ",";
  members_ += quoted(name) + ":";
  members_ += value;
  return *this;
}

JsonObject& JsonObject::put(std::string_view name, std::string_view text) { return raw(name, quoted(text)); }

JsonObject& JsonObject::put(std::string_view name, double value) {
  if (!std::isfinite(value)) return raw(name, "null");
  char number[400];
  std::snprintf(number, sizeof number, "%.3f", value);
  return raw(name, number);
}

JsonObject& JsonObject::put(std::string_view name, const std::vector<std::string>& list) {
  std::string items;
  for (const std::string& item : list) items += (items.empty() ? "" : ",") + quoted(item);
  return raw(name, "[" + items + "]");
}

JsonObject& JsonObject::put(std::string_view name, const std::vector<std::uint64_t>& list) {
  std::string items;
  for (const std::uint64_t item : list) items += (items.empty() ? "" : ",") + std::to_string(item);
  return raw(name, "[" + items + "]");
}

JsonObject& JsonObject::put(std::string_view name, const std::vector<JsonObject>& list) {
  std::string items;
  for (const JsonObject& item : list) items += (items.empty() ? "" : ",") + item.text();
  return raw(name, "[" + items + "]");
}

}  // namespace millrace::report
