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

// Files whose names outlive a killed process, in a folder that only this user can enter:
// DIRECTORY/millrace-UID-MACHINE. The machine is in the name because locks of other nodes may not be visible
// here. Its number comes from /etc/machine-id, which stays when the host gets another name.
// The process that makes a file holds the file's lock (flock) as long as it lives. So other processes see
// that it lives. The folder is removed with its last file.
namespace millrace::io {

struct Owned {
  Fd file;
  std::string path;
  std::uint64_t created_ns;  // since 1970
};

std::string owned_folder(const std::string& directory);

// The user's folders of other machines' names in the directory that have files whose names end in `suffix`.
std::vector<std::string> other_folders(const std::string& directory, const std::string& suffix);

// True if another user has made a folder with that name. No process of this user uses it.
bool is_foreign_folder(const std::string& directory);

// The reason why lock_folder(), create_owned() or list_owned() answered `refused`, and what the user can do.
std::string describe_unusable(const std::string& directory, Status refused);

// Takes the folder's lock, which one recovery at a time holds. Code::not_found: there is no folder.
// Code::timeout and Code::unsupported as for try_lock().
Result<Fd> lock_folder(const std::string& directory);
// True if another process holds the folder's lock. An error: nobody knows.
Result<bool> is_folder_locked(const std::string& directory);

// Makes a new, empty, locked file with mode 0600, for reading and writing. Its name ends in `suffix`.
// Code::access if the folder exists and is not the user's own. Code::unsupported, and no file, if the file
// system has no locks: nobody could tell the files of the living from those of the dead.
Result<Owned> create_owned(const std::string& directory, const std::string& suffix);

// Lists the files whose names end in `suffix`, in the order of their names. The list is empty if there is no
// folder. Code::access as for create_owned().
Result<std::vector<std::string>> list_owned(const std::string& directory, const std::string& suffix);
// The same, of any folder of this user.
Result<std::vector<std::string>> list_folder(const std::string& folder, const std::string& suffix);

// Makes the folder if it is not there. Code::access: only this user could enter it, but it is not so.
Status make_own_folder(const std::string& folder);

// Opens a regular file of this user for reading and writing. Opens it for reading only if the file system or
// the file's mode does not allow writing.
Result<Fd> open_owned(const std::string& path);

// Writes all bytes. Blocks.
Status write_at(const Fd& file, std::uint64_t offset, std::span<const std::byte> bytes);
// The same, and syncs the file.
Status write_durably(const Fd& file, std::uint64_t offset, std::span<const std::byte> bytes);
// Reads the first bytes. Returns their number, which is smaller if the file is shorter.
Result<std::size_t> read_start(const Fd& file, std::span<std::byte> into);
// False: the file has fewer bytes, or cannot be read.
bool read_start(const Fd& file, void* into, std::size_t size);

// Syncs the name of a file and the name of its folder, so that both outlive a crash of the node. The path is
// absolute. No error: the file system cannot sync folders, and keeps names in its own way, or the user may
// not read the folder.
Status sync_name(const std::string& path);

// Takes the file's lock. Code::timeout: another process has the lock. Code::not_found: the file has no name
// any more. Code::unsupported: the file system has no locks (ENOSYS, EOPNOTSUPP), or gives none now (ENOLCK).
Status try_lock(const Fd& file);
// True if it is taken.
inline bool take_lock(const Fd& file) { return try_lock(file).ok(); }
// False: the file has been removed.
bool has_name(const Fd& file);
// True if another process holds the lock, or if the file system does not tell. Then the file counts as that
// of a living process, because each caller does less for the living: a journal is neither written nor
// removed, and an open that would write over it fails.
bool is_locked(const Fd& file);

// Removes the file, and then the folder if it is empty.
Status remove_owned(const std::string& path);
// The same, and syncs the folder, so that the file does not come back after a crash of the node. A file
// system that has no sync of folders keeps names safe itself. An error: the file may be there, or come back.
Status remove_durably(const std::string& path);

// The number of this boot of the kernel, at random; 0 if it is not known.
std::uint64_t boot_number();

// The absolute path of the open file according to the kernel; empty if it has none.
std::string path_of(int file);

}  // namespace millrace::io
