// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "base/file_system.hpp"

#include <sys/statfs.h>

#include <algorithm>
#include <array>

namespace millrace {

namespace {

// The number is f_type of statfs(2), the name that of the table of mounts.
struct Type {
  std::uint32_t number;
  std::string_view name;
};
constexpr std::uint32_t tmpfs = 0x01021994, ramfs = 0x858458F6, ext4 = 0xEF53, fat = 0x4D44;
constexpr std::array local_types{
    Type{ext4, "ext4"},           Type{ext4, "ext3"},
    Type{ext4, "ext2"},           Type{0x58465342, "xfs"},
    Type{0x9123683E, "btrfs"},    Type{tmpfs, "tmpfs"},
    Type{tmpfs, "devtmpfs"},      Type{ramfs, "ramfs"},
    Type{0x2FC12FC1, "zfs"},      Type{0xF2F52010, "f2fs"},
    Type{0x794C7630, "overlay"},  Type{0x3153464A, "jfs"},
    Type{0x52654973, "reiserfs"}, Type{fat, "vfat"},
    Type{fat, "msdos"},           Type{0x2011BAB0, "exfat"},
    Type{0xCA451A4E, "bcachefs"}, Type{0x9FA0, "proc"},
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

bool is_local_type(std::uint32_t type) {
  return std::ranges::find(local_types, type, &Type::number) != local_types.end();
}

bool is_local_type(std::string_view name) {
  return std::ranges::find(local_types, name, &Type::name) != local_types.end();
}

bool is_memory_type(std::uint32_t type) { return type == tmpfs || type == ramfs; }

}  // namespace millrace
