// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace {

// Returns f_type of statfs(2); 0: the type is unknown.
std::uint32_t type_of_file_system(const char* path);
std::uint32_t type_of_file_system(int file);

// True for a file system of this machine. An unknown type may be remote.
bool is_local_type(std::uint32_t type);
// The same for the name of a type in the table of mounts, such as "ext4".
bool is_local_type(std::string_view name);
// True for a file system with all its files in memory.
bool is_memory_type(std::uint32_t type);

}  // namespace millrace
