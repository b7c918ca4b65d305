// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/core/testing/told.hpp"

#include <nlohmann/json.hpp>

namespace millrace::agent {
namespace {

using Json = nlohmann::json;

Json at(const std::string& line, const char* place) {
  return Json::parse(line).at(Json::json_pointer(place));
}

}  // namespace

std::uint64_t number_at(const std::string& line, const char* place) {
  const Json found = at(line, place);
  return found.is_boolean() ? found.get<bool>() : found.get<std::uint64_t>();
}

std::string word_at(const std::string& line, const char* place) { return at(line, place).get<std::string>(); }

}  // namespace millrace::agent
