// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>

namespace millrace {

// The identity of a file. The inode number is not enough, because a file system gives the number of a removed
// file to a new file. The device number is only a hint: network file systems, FUSE, btrfs and loop devices
// get another one at each mount. 0 in one of the last three members: the file system does not tell that
// member.
struct FileIdentity {
  std::uint64_t device = 0;    // st_dev
  std::uint64_t inode = 0;     // st_ino
  std::uint64_t birth_ns = 0;  // when the file was made, since 1970 (statx)
  std::uint64_t handle = 0;    // checksum of the kernel's file handle, which counts the inode's generations
  std::uint64_t mark = 0;      // Millrace's mark on the file, if there is neither birth_ns nor handle

  bool operator==(const FileIdentity&) const = default;
};

// The value of `mark` for a file that has no mark but could have one.
inline constexpr std::uint64_t unmarked = 1;

// The state of a file: it changes with each write to the file. Programs can set mtime_ns to any time.
struct FileState {
  std::uint64_t bytes = 0;     // st_size
  std::uint64_t mtime_ns = 0;  // of the last write, since 1970
  std::uint64_t ctime_ns = 0;  // of the last change of the inode: also chmod, rename and link

  bool operator==(const FileState&) const = default;
};

enum class Sameness : std::uint8_t { same, other, unknown };

// Compares the file that was `written` with the one that was `found`. Unknown: the inode numbers are equal,
// and no other member but the device is known for both.
constexpr Sameness same_file(const FileIdentity& written, const FileIdentity& found) {
  if (written.inode != found.inode) return Sameness::other;
  Sameness sameness = Sameness::unknown;
  for (const auto part : {&FileIdentity::birth_ns, &FileIdentity::handle, &FileIdentity::mark}) {
    if (written.*part == 0 || found.*part == 0) continue;
    if (written.*part != found.*part) return Sameness::other;
    sameness = Sameness::same;
  }
  return sameness;
}

// For a file that this process has open, so that its inode number cannot be that of a new file. Files of two
// file systems may have the same number. So the device decides if no other member is known.
constexpr bool same_open_file(const FileIdentity& open, const FileIdentity& found) {
  const Sameness sameness = same_file(open, found);
  return sameness == Sameness::same || (sameness == Sameness::unknown && open.device == found.device);
}

// As same_file(), for a file that may have been mounted anew since. A file system without lasting inode
// numbers has a file's mark, if it has marks.
constexpr Sameness same_target(const FileIdentity& written, FileIdentity found) {
  if (written.mark > unmarked && written.mark == found.mark) found.inode = written.inode;
  return same_file(written, found);
}

}  // namespace millrace
