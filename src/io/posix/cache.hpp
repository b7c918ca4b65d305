// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace millrace::io {

// How a descriptor's writes and reads reach the file: through the page cache, past it in whole blocks of
// direct_alignment, or past it at any alignment (FileSystemType::exact_direct).
enum class Cache : std::uint8_t { used, passed_in_blocks, passed };

}  // namespace millrace::io
