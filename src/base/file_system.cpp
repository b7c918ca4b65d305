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

constexpr std::uint32_t tmpfs = 0x01021994, ramfs = 0x858458F6, ext4 = 0xEF53, fat = 0x4D44;
constexpr std::uint32_t cifs = 0xFF534D42, smb3 = 0xFE534D42, nfs = 0x6969;

using enum Coherence;

// The first row that fits counts. What each row says is known from the documentation of the file system's
// client, and from its source in Linux.
constexpr std::array table_of_types{
    FileSystemType{ext4, "ext4", machine}, FileSystemType{ext4, "ext3", machine},
    FileSystemType{ext4, "ext2", machine}, FileSystemType{0x58465342, "xfs", machine},
    FileSystemType{0x9123683E, "btrfs", machine}, FileSystemType{tmpfs, "tmpfs", machine},
    FileSystemType{tmpfs, "devtmpfs", machine}, FileSystemType{ramfs, "ramfs", machine},
    FileSystemType{0x2FC12FC1, "zfs", machine}, FileSystemType{0xF2F52010, "f2fs", machine},
    FileSystemType{0x794C7630, "overlay", machine}, FileSystemType{0x3153464A, "jfs", machine},
    FileSystemType{0x52654973, "reiserfs", machine}, FileSystemType{fat, "vfat", machine},
    FileSystemType{fat, "msdos", machine}, FileSystemType{0x2011BAB0, "exfat", machine},
    FileSystemType{0xCA451A4E, "bcachefs", machine}, FileSystemType{0x9FA0, "proc", machine},
    // Locks that the servers give on extents (Lustre's LDLM), files (DLM) or ranges (tokens of GPFS) guard
    // the pages of each client.
    FileSystemType{0x0BD00BD0, "lustre", nodes}, FileSystemType{0x47504653, "gpfs", nodes},
    FileSystemType{0x01161970, "gfs2", nodes}, FileSystemType{0x7461636F, "ocfs2", nodes},
    // The metadata server takes a client's right to cache a file away before another node writes the file.
    FileSystemType{0x00C36400, "ceph", nodes},
    // A FUSE server gets the bytes of each write at once, unless it asks for FUSE_WRITEBACK_CACHE. Those of
    // CephFS and GlusterFS do not (its option kernel-writeback-cache is off). The table of mounts does not
    // tell whether other servers do, so they have no row.
    FileSystemType{0, "fuse.ceph-fuse", nodes}, FileSystemType{0, "fuse.ceph", nodes},
    FileSystemType{0, "fuse.glusterfs", nodes},
    // `millrace cluster --slow`: our own server (bench/slow_disk) passes on each write at once.
    FileSystemType{0, "fuse.millrace", nodes},
    // mount.cifs(8): with cache=strict, a client caches a file only under an oplock; with cache=none, never.
    FileSystemType{cifs, "cifs", nodes, "cache=strict"}, FileSystemType{cifs, "cifs", nodes, "cache=none"},
    FileSystemType{smb3, "smb3", nodes, "cache=strict"}, FileSystemType{smb3, "smb3", nodes, "cache=none"},
    // nfs(5): coherent between close and open only. Unless a process of the node holds a lock on the file, a
    // client writes back whole pages, with what it read of them before (nfs_can_extend_write()). open(2): a
    // write with O_DIRECT passes the client's cache, at any alignment.
    FileSystemType{nfs, "nfs", none, {}, true}, FileSystemType{nfs, "nfs4", none, {}, true},
    // Also without a row: 9p and virtiofs (their caches depend on the host), BeeGFS (on a file of settings),
    // OrangeFS, AFS, hostfs, and types that nobody has looked at.
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

std::span<const FileSystemType> file_system_types() { return table_of_types; }

FileSystemType type_by_name(std::string_view name, std::string_view options) {
  const std::string all = "," + std::string(options) + ",";
  const auto fits = [&](const FileSystemType& row) {
    return row.name == name &&
           (row.option.empty() || all.find("," + std::string(row.option) + ",") != std::string::npos);
  };
  const auto* const found = std::ranges::find_if(table_of_types, fits);
  return found != table_of_types.end() ? *found : FileSystemType{};
}

FileSystemType type_by_number(std::uint32_t number) {
  const auto fits = [number](const FileSystemType& row) {
    return number != 0 && row.number == number && row.option.empty();
  };
  const auto* const found = std::ranges::find_if(table_of_types, fits);
  return found != table_of_types.end() ? *found : FileSystemType{};
}

std::uint32_t type_of_file_system(const char* path) {
  struct statfs about {};
  return ::statfs(path, &about) == 0 ? static_cast<std::uint32_t>(about.f_type) : 0;
}

std::uint32_t type_of_file_system(int file) {
  struct statfs about {};
  return ::fstatfs(file, &about) == 0 ? static_cast<std::uint32_t>(about.f_type) : 0;
}

// A line of mountinfo: ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [FIELDS...] - TYPE SOURCE OPTIONS. If a
// device has several mounts, the first one is enough: all have the same type, source and options.
Mount mount_of(std::uint64_t device) {
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
    const std::string_view type = take_field(line), source = take_field(line), options = take_field(line);
    if (!source.empty()) return {std::string(type), std::string(source), std::string(options)};
  }
  return {};
}

std::string file_system_of(std::uint64_t device) {
  const Mount mount = mount_of(device);
  return mount.type.empty() ? std::string() : mount.type + " " + mount.source;
}

FileSystemType type_of(int file) {
  struct statx about {};
  const int flags = AT_EMPTY_PATH | AT_STATX_DONT_SYNC;
  if (::statx(file, "", flags, STATX_TYPE, &about) == 0) {
    const Mount mount = mount_of(makedev(about.stx_dev_major, about.stx_dev_minor));
    if (!mount.type.empty()) return type_by_name(mount.type, mount.options);
  }
  return type_by_number(type_of_file_system(file));
}

bool is_fuse_type(std::string_view name) { return name.starts_with("fuse") || name == "virtiofs"; }

bool is_memory_type(std::uint32_t type) { return type == tmpfs || type == ramfs; }

}  // namespace millrace
