// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

// For tests: what an agent's line of JSON says at a place, such as "/agent/seeks". The header of nlohmann's
// library takes seconds in each file that includes it.
namespace millrace::agent {

std::uint64_t number_at(const std::string& line, const char* place);  // of true: 1
std::string word_at(const std::string& line, const char* place);

}  // namespace millrace::agent
