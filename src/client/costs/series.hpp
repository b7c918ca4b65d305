// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

// A series is a row of files whose names differ only in digits. Its next files use the lessons from its
// earlier ones.
namespace millrace::client {

// Never 0.
std::uint64_t series_number(std::string_view path);

}  // namespace millrace::client
