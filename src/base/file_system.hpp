// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace millrace {

// f_type of statfs(2); 0: not known.
std::uint32_t type_of_file_system(const char* path);
std::uint32_t type_of_file_system(int file);

// A file system of this machine. One whose type is not known may well be remote.
bool is_local_type(std::uint32_t type);
// ... that has its files in memory alone.
bool is_memory_type(std::uint32_t type);

}  // namespace millrace
