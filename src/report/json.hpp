// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::report {

// Builds one JSON object in one line of text. The names are in the order of the calls. Bytes that are not
// UTF-8 (file names may have such bytes) become U+FFFD. Not thread safe.
class JsonObject {
 public:
  JsonObject& put(std::string_view name, std::string_view text);
  JsonObject& put(std::string_view name, const char* text) { return put(name, std::string_view(text)); }
  JsonObject& put(std::string_view name, bool value) { return raw(name, value ? "true" : "false"); }
  // Writes three digits after the decimal point.
  JsonObject& put(std::string_view name, double value);
  JsonObject& put(std::string_view name, const std::vector<std::string>& list);
  JsonObject& put(std::string_view name, const std::vector<std::uint64_t>& list);
  JsonObject& put(std::string_view name, const JsonObject& inner) { return raw(name, inner.text()); }
  JsonObject& put(std::string_view name, const std::vector<JsonObject>& list);
  template <std::integral T>
  JsonObject& put(std::string_view name, T value) {
    return raw(name, std::to_string(value));
  }

  std::string text() const { return "{" + members_ + "}"; }

 private:
  JsonObject& raw(std::string_view name, std::string_view value);

  std::string members_;
};

}  // namespace millrace::report
