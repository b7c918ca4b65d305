// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "common/json.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace bench {

using Value = nlohmann::ordered_json;

struct Json::Document {
  Value root = Value::object();
  std::vector<Value*> open{&root};  // the innermost is the last one

  Value& add(std::string_view name, Value value) {
    Value& into = *open.back();
    if (into.is_array()) {
      into.push_back(std::move(value));
      return into.back();
    }
    return into[std::string(name)] = std::move(value);
  }
};

Json::Json(std::string_view benchmark) : document_(std::make_unique<Document>()) {
  put("schema", "millrace-bench").put("version", 1).put("benchmark", benchmark);
}

Json::~Json() = default;

Json& Json::object(std::string_view name) {
  document_->open.push_back(&document_->add(name, Value::object()));
  return *this;
}

Json& Json::list(std::string_view name) {
  document_->open.push_back(&document_->add(name, Value::array()));
  return *this;
}

Json& Json::close() {
  document_->open.pop_back();
  return *this;
}

Json& Json::put(std::string_view name, std::string_view value) {
  document_->add(name, value);
  return *this;
}

// Nine digits are more than any clock has.
Json& Json::put(std::string_view name, double value) {
  char digits[40];
  std::snprintf(digits, sizeof digits, "%.9g", value);
  document_->add(name, std::isfinite(value) ? Value(std::strtod(digits, nullptr)) : Value());
  return *this;
}

Json& Json::put(std::string_view name, bool value) {
  document_->add(name, value);
  return *this;
}

Json& Json::put_signed(std::string_view name, std::int64_t value) {
  document_->add(name, value);
  return *this;
}

Json& Json::put_unsigned(std::string_view name, std::uint64_t value) {
  document_->add(name, value);
  return *this;
}

std::string Json::finish() {
  return document_->root.dump(2, ' ', false, Value::error_handler_t::replace) + "\n";
}

}  // namespace bench
