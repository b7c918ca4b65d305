// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "base/file_system.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace millrace {
namespace {

std::string name_of(const FileSystemType& row) {
  const std::string options = row.option.empty() ? "" : " " + std::string(row.option);
  return std::string(row.name) + options + (row.exact_direct ? " past the cache" : "");
}

// A new row needs a reason, in the table's comments, and a line here and in docs/reference/filesystems.md.
TEST(FileSystemTypes, EachTypeIsCoherentOrNot) {
  std::map<Coherence, std::string> told;
  for (const FileSystemType& row : file_system_types()) told[row.coherence] += name_of(row) + ", ";
  EXPECT_EQ(
      told[Coherence::machine],
      "ext4, ext3, ext2, xfs, btrfs, tmpfs, devtmpfs, ramfs, zfs, f2fs, overlay, jfs, reiserfs, vfat, msdos, "
      "exfat, bcachefs, proc, ");
  EXPECT_EQ(told[Coherence::nodes],
            "lustre, gpfs, gfs2, ocfs2, ceph, fuse.ceph-fuse, fuse.ceph, fuse.glusterfs, fuse.millrace, cifs "
            "cache=strict, "
            "cifs cache=none, smb3 cache=strict, smb3 cache=none, ");
  EXPECT_EQ(told[Coherence::none], "nfs past the cache, nfs4 past the cache, ");
}

TEST(FileSystemTypes, AnUnknownTypeIsNotCoherent) {
  for (const char* name :
       {"", "fuse", "fuse.sshfs", "fuseblk", "virtiofs", "9p", "beegfs", "orangefs", "hostfs", "ext"}) {
    EXPECT_EQ(type_by_name(name, "rw").coherence, Coherence::none) << name;
    EXPECT_FALSE(type_by_name(name, "rw").exact_direct) << name;
  }
  constexpr std::uint32_t fuse = 0x65735546;
  for (const std::uint32_t number : {0U, 1U, fuse})
    EXPECT_EQ(type_by_number(number).coherence, Coherence::none) << number;
}

TEST(FileSystemTypes, AnOptionOfTheMountDecides) {
  EXPECT_EQ(type_by_name("cifs", "rw,vers=3.1.1,cache=strict,uid=0").coherence, Coherence::nodes);
  EXPECT_EQ(type_by_name("cifs", "cache=none").coherence, Coherence::nodes);
  EXPECT_EQ(type_by_name("cifs", "rw,cache=loose").coherence, Coherence::none);
  EXPECT_EQ(type_by_name("cifs", "rw,cache=stricter").coherence, Coherence::none);
  EXPECT_EQ(type_by_name("cifs", "").coherence, Coherence::none);
}

// The number does not tell the options.
TEST(FileSystemTypes, ARowForAnOptionIsNotFoundByNumber) {
  for (const FileSystemType& row : file_system_types()) {
    if (row.number == 0) continue;
    const FileSystemType found = type_by_number(row.number);
    EXPECT_EQ(found.coherence, row.option.empty() ? row.coherence : Coherence::none) << row.name;
    EXPECT_EQ(found.exact_direct, row.exact_direct) << row.name;
  }
}

}  // namespace
}  // namespace millrace
