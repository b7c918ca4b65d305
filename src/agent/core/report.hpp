// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "agent/core/open_file.hpp"

namespace millrace::agent {

// Raised when a field changes its meaning or is removed. A new field does not raise it.
inline constexpr int report_schema = 1;

// The statistics of one lane of a file, as one line of JSON.
std::string make_report(const OpenFile& file, std::uint32_t lane, const BlockPool& pool);

}  // namespace millrace::agent
