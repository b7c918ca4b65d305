// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "base/file_system.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/fd.hpp"

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

constexpr std::size_t most_bytes = std::size_t{1} << 20;  // of the table

// Takes only as much memory as the table needs, because fresh pages cost an open more time than the table
// does.
std::string table() {
  const Fd file(::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> part;
  while (file.valid() && text.size() < most_bytes) {
    const ssize_t got = ::read(file.get(), part.data(), part.size());
    if (got <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  return text;
}

// The fields of a line, one after the other; empty when there are no more.
std::string_view take_field(std::string_view& line) {
  const std::string_view field = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(line.size(), field.size() + 1));
  return field;
}

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

// A line of mountinfo: ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [FIELDS...] - TYPE SOURCE OPTIONS. If a
// device has several mounts, the first one is enough: all have the same type and source.
std::string file_system_of(std::uint64_t device) {
  const std::string wanted = std::to_string(major(device)) + ":" + std::to_string(minor(device));
  const std::string mounts = table();
  for (std::string_view rest = mounts; !rest.empty();) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    (void)take_field(line);
    (void)take_field(line);
    if (take_field(line) != wanted) continue;
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    line.remove_prefix(dash + 3);
    const std::string_view type = take_field(line), source = take_field(line);
    if (!source.empty()) return std::string(type) + " " + std::string(source);
  }
  return {};
}

bool is_local(int file) {
  struct statx about {};
  const int flags = AT_EMPTY_PATH | AT_STATX_DONT_SYNC;
  std::string system;
  if (::statx(file, "", flags, STATX_TYPE, &about) == 0)
    system = file_system_of(makedev(about.stx_dev_major, about.stx_dev_minor));
  if (system.empty()) return is_local_type(type_of_file_system(file));
  return is_local_type(std::string_view(system).substr(0, system.find(' ')));
}

bool is_fuse_type(std::string_view name) { return name.starts_with("fuse") || name == "virtiofs"; }

bool is_memory_type(std::uint32_t type) { return type == tmpfs || type == ramfs; }

}  // namespace millrace
