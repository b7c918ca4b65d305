// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"

// Files with names that outlive a killed process, in a folder that only this user can enter:
// DIRECTORY/millrace-UID-NODE. The node is in the name because locks of other nodes may not be visible here.
// A process that makes a file holds its lock (flock) for as long as it lives, so other processes see that it
// lives. The folder is removed with its last file.
namespace millrace::io {

struct Owned {
  Fd file;
  std::string path;
  std::uint64_t created_ns;  // since 1970
};

std::string owned_folder(const std::string& directory);

// Makes a new, empty file, mode 0600, locked, for reading and writing; its name ends in `suffix`.
// Code::access if the folder exists and is not the user's own.
Result<Owned> create_owned(const std::string& directory, const std::string& suffix);

// Lists files whose names end in `suffix`, in the order of their names; none if there is no folder.
// Code::access as above.
Result<std::vector<std::string>> list_owned(const std::string& directory, const std::string& suffix);

// Opens a file for reading and writing, or for reading alone if the file system or the file's mode allows no
// more. Only a regular file of this user.
Result<Fd> open_owned(const std::string& path);

// Writes all bytes; blocks.
Status write_at(const Fd& file, std::uint64_t offset, std::span<const std::byte> bytes);
// ... and makes the file stable.
Status write_durably(const Fd& file, std::uint64_t offset, std::span<const std::byte> bytes);
// Reads the first `size` bytes; false if there are fewer.
bool read_start(const Fd& file, void* into, std::size_t size);

// Syncs the absolute name and that of its folder, so that both outlive a crash of the node.
Status sync_name(const std::string& path);

// Takes the lock. False: another process has it, or the file has lost its name.
bool take_lock(const Fd& file);
// True if another process holds the lock.
bool is_locked(const Fd& file);

// Removes the name, and the folder if it is empty then.
Status remove_owned(const std::string& path);
// ... so that no crash of the node brings it back. A file system that refuses the sync keeps names by itself.
Status remove_durably(const std::string& path);

// The absolute name of the open file in the kernel; empty if there is none.
std::string path_of(int file);

}  // namespace millrace::io
