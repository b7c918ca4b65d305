// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace bench {

// Builds one JSON document, in order. Names apply inside objects only; pass "" inside lists. Not thread safe.
class Json {
 public:
  // Starts the document that every program here prints: schema, version and the program's name come first.
  explicit Json(std::string_view benchmark);
  ~Json();

  Json& object(std::string_view name = "");
  Json& list(std::string_view name = "");
  // Ends the innermost object or list.
  Json& close();

  Json& put(std::string_view name, std::string_view value);
  Json& put(std::string_view name, const char* value) { return put(name, std::string_view(value)); }
  Json& put(std::string_view name, double value);  // null if it is not finite
  Json& put(std::string_view name, bool value);
  template <std::signed_integral T>
  Json& put(std::string_view name, T value) {
    return put_signed(name, value);
  }
  template <std::unsigned_integral T>
  Json& put(std::string_view name, T value) {
    return put_unsigned(name, value);
  }

  // The document as text, indented, whatever is still open.
  std::string finish();

 private:
  struct Document;  // of a library whose header is long

  Json& put_signed(std::string_view name, std::int64_t value);
  Json& put_unsigned(std::string_view name, std::uint64_t value);

  std::unique_ptr<Document> document_;
};

}  // namespace bench
