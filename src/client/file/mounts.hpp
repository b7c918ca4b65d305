// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/file_system.hpp"
#include "client/file/target_file.hpp"

// The table of mounts, /proc/self/mountinfo. A look at it costs less than a question to a network file
// system.
namespace millrace::client {

// The type and the source of a path's file system, such as "ext4 /dev/vda1". The path need not exist yet.
// Empty: the kernel does not name the file system.
std::string file_system_of(const std::string& path);
using millrace::file_system_of;  // the same of a device
// Of the file system of an existing path.
Coherence coherence_of(const std::string& path);
// The type of the file's file system.
FileSystemType type_of(const TargetFile& target);
// True if the file may be on a network file system.
bool is_remote(const TargetFile& target);

}  // namespace millrace::client
