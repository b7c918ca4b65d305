// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace millrace {

// Returns f_type of statfs(2); 0: the type is unknown.
std::uint32_t type_of_file_system(const char* path);
std::uint32_t type_of_file_system(int file);

// The type and the source of the file system with this st_dev, with a space between them. They come from the
// table of mounts, so no server of a network file system is asked. Empty: the table does not tell.
std::string file_system_of(std::uint64_t device);

// True for a file system of this machine. An unknown type may be remote.
bool is_local_type(std::uint32_t type);
// The same for the name of a type in the table of mounts, such as "ext4".
bool is_local_type(std::string_view name);
// The same for the file system of an open file.
bool is_local(int file);
// True for the name of a type that a FUSE server implements.
bool is_fuse_type(std::string_view name);
// True for a file system with all its files in memory.
bool is_memory_type(std::uint32_t type);

}  // namespace millrace
