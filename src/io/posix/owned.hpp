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

// Files with names that outlive a process that is killed, in a folder that only this user can enter:
// DIRECTORY/millrace-UID-NODE: locks of other nodes may not be seen here. Who makes one holds its lock
// (flock) for as long as it lives; that is how others know. The folder goes with its last file.
namespace millrace::io {

struct Owned {
  Fd file;
  std::string path;
  std::uint64_t created_ns;  // since 1970
};

std::string owned_folder(const std::string& directory);

// A new, empty file, mode 0600, locked, for reading and writing; its name ends in `suffix`. Code::access if
// the folder is there and not the user's own.
Result<Owned> create_owned(const std::string& directory, const std::string& suffix);

// Those whose names end in `suffix`, in the order of their names; none if there is no folder. Code::access as
// above.
Result<std::vector<std::string>> list_owned(const std::string& directory, const std::string& suffix);

// For reading and writing, or for reading alone where the file system or the file's mode allows no more; only
// a regular file of this user's.
Result<Fd> open_owned(const std::string& path);

// Writes all of it; blocks.
Status write_at(const Fd& file, std::uint64_t offset, std::span<const std::byte> bytes);
// ... and makes the file stable.
Status write_durably(const Fd& file, std::uint64_t offset, std::span<const std::byte> bytes);
// The first `size` bytes; false if there are fewer.
bool read_start(const Fd& file, void* into, std::size_t size);

// Makes the name itself, which is absolute, and that of its folder outlive a crash of the node.
Status sync_name(const std::string& path);

// Takes the lock. False: somebody has it, or the file has lost its name meanwhile.
bool take_lock(const Fd& file);
// True if somebody else holds it.
bool is_locked(const Fd& file);

// Takes the name away, and the folder if it is empty then.
Status remove_owned(const std::string& path);
// ... so that no crash of the node brings it back; where a file system refuses that, it keeps names itself.
Status remove_durably(const std::string& path);

// Absolute, as the kernel knows the open file; empty if it does not.
std::string path_of(int file);

}  // namespace millrace::io
