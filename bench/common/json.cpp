// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "common/json.hpp"

#include <cmath>
#include <cstdio>

namespace bench {

Json::Json(std::string_view benchmark) {
  text_ = "{";
  closers_ = "}";
  put("schema", "millrace-bench").put("version", 1).put("benchmark", benchmark);
}

std::string Json::quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      out += escape;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

void Json::begin_value(std::string_view name) {
  if (!first_) text_ += ',';
  first_ = false;
  text_ += '\n';
  text_.append(2 * closers_.size(), ' ');
  if (!name.empty()) text_ += quote(name) + ": ";
}

Json& Json::open(std::string_view name, char bracket) {
  begin_value(name);
  text_ += bracket;
  closers_ += bracket == '{' ? '}' : ']';
  first_ = true;
  return *this;
}

Json& Json::close() {
  const char closer = closers_.back();
  closers_.pop_back();
  if (!first_) {
    text_ += '\n';
    text_.append(2 * closers_.size(), ' ');
  }
  text_ += closer;
  first_ = false;
  return *this;
}

Json& Json::raw(std::string_view name, std::string_view text) {
  begin_value(name);
  text_ += text;
  return *this;
}

Json& Json::put(std::string_view name, std::string_view value) { return raw(name, quote(value)); }

Json& Json::put(std::string_view name, double value) {
  if (!std::isfinite(value)) return raw(name, "null");
  char number[40];
  std::snprintf(number, sizeof number, "%.9g", value);
  return raw(name, number);
}

std::string Json::finish() {
  while (!closers_.empty()) close();
  return text_ + "\n";
}

}  // namespace bench
