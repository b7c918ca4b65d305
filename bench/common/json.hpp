// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace bench {

// Writes one JSON document, in order, indented. The caller closes what it opens; commas are put by
// themselves. Names apply inside objects only; pass "" inside lists. Not thread safe.
class Json {
 public:
  // Starts the document that every program here prints: schema, version and the program's name come first.
  explicit Json(std::string_view benchmark);

  Json& object(std::string_view name = "") { return open(name, '{'); }
  Json& list(std::string_view name = "") { return open(name, '['); }
  Json& close();

  Json& put(std::string_view name, std::string_view value);
  Json& put(std::string_view name, const char* value) { return put(name, std::string_view(value)); }
  Json& put(std::string_view name, double value);
  Json& put(std::string_view name, bool value) { return raw(name, value ? "true" : "false"); }
  template <std::integral T>
  Json& put(std::string_view name, T value) {
    return raw(name, std::to_string(value));
  }

  // Closes all that is open and returns the document.
  std::string finish();

 private:
  Json& open(std::string_view name, char bracket);
  Json& raw(std::string_view name, std::string_view text);
  void begin_value(std::string_view name);
  static std::string quote(std::string_view text);

  std::string text_;
  std::string closers_;
  bool first_ = true;
};

}  // namespace bench
