// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "base/file_system.hpp"

#include <sys/statfs.h>

#include <algorithm>
#include <array>

namespace millrace {

namespace {

constexpr std::uint32_t tmpfs = 0x01021994, ramfs = 0x858458F6;
constexpr std::array<std::uint32_t, 14> local_types{
    0xEF53,      // ext2, ext3, ext4
    0x58465342,  // xfs
    0x9123683E,  // btrfs
    tmpfs,      ramfs,
    0x2FC12FC1,  // zfs
    0xF2F52010,  // f2fs
    0x794C7630,  // overlay
    0x3153464A,  // jfs
    0x52654973,  // reiserfs
    0x4D44,      // fat
    0x2011BAB0,  // exfat
    0xCA451A4E,  // bcachefs
    0x9FA0,      // proc
};

}  // namespace

std::uint32_t type_of_file_system(const char* path) {
  struct statfs about {};
  return ::statfs(path, &about) == 0 ? static_cast<std::uint32_t>(about.f_type) : 0;
}

std::uint32_t type_of_file_system(int file) {
  struct statfs about {};
  return ::fstatfs(file, &about) == 0 ? static_cast<std::uint32_t>(about.f_type) : 0;
}

bool is_local_type(std::uint32_t type) { return std::ranges::find(local_types, type) != local_types.end(); }

bool is_memory_type(std::uint32_t type) { return type == tmpfs || type == ramfs; }

}  // namespace millrace
