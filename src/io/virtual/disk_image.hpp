// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <vector>

#include "base/fd.hpp"
#include "base/file_identity.hpp"
#include "extent/extent.hpp"
#include "io/storage.hpp"
#include "io/virtual/timeline.hpp"

namespace millrace::io {

class DiskProcess;

inline constexpr std::uint64_t sector = 512;  // of the disk, bytes

// A file of a VirtualDisk: its contents in the caches and on the disk, its bytes on the way from one to the
// other, and its locks. Owned by the disk. Not thread safe.
struct DiskImage {
  // Bytes in the cache that are not on the disk.
  struct Dirty {
    const DiskProcess* writer;
    std::uint32_t node;
    Extent extent;
    std::uint64_t until_ns;
    bool accepted = true;  // only the node's cache has it: the server may refuse it until a close
  };
  struct Lock {
    const DiskProcess* owner;
    Extent extent;
  };

  bool is(const struct stat& about) const { return device == about.st_dev && inode == about.st_ino; }
  FileState state() const { return {contents.size(), changed_ns, changed_ns}; }
  // The system may give the inode to another file.
  void forget();
  // The whole file is new, in every cache and on the disk.
  void fill(std::span<const std::byte> bytes);
  void truncate(std::uint64_t bytes);

  // False: another process holds a lock there.
  bool lock(const DiskProcess& owner, Extent of);
  bool locked_for(const DiskProcess& process, Extent extent) const;
  void unlock(const DiskProcess& owner);

  // Before a node overwrites bytes in another node's cache, these bytes go to the disk. File systems whose
  // nodes see each other's writes do the same.
  void take_over(std::uint32_t by_node, Extent extent);
  // The disk has taken what it could until now.
  void advance(std::uint64_t now_ns);
  // A datasync fails: the dirty bytes of its node never reach the disk.
  void lose_dirty(std::uint32_t of_node);
  // True if a close of this process may still lose bytes.
  bool has_accepted(const DiskProcess& of) const;
  // A close(2) brings the bytes of the process that the cache has accepted to the server, which may refuse
  // them. The server's disk gets them later.
  void bring_to_server(const DiskProcess& of, bool refused, Timeline& chance);
  // The node's cache is lost. Chance decides for each sector that is not on the disk whether it is kept.
  void lose_cache(std::uint32_t of_node, std::uint64_t wall_ns, Timeline& chance);

  bool created = false;  // VirtualDisk::create() made the file
  Fd kept;               // set while the file has a name, so that no other file gets its inode
  dev_t device = 0;
  ino_t inode = 0;
  std::uint64_t birth = 0;  // a number for the file: later files may get its inode number, and its name
  std::uint64_t mark = unmarked;
  std::vector<std::byte> contents;
  std::uint64_t changed_ns = 0;  // the time of the last write
  std::vector<std::byte> stable;
  std::list<Dirty> dirty;             // in the order in which the disk takes it
  std::vector<std::uint32_t> losses;  // by node: how often bytes of its cache were lost
  std::vector<Lock> locks;

 private:
  void settle(Extent extent);
  void roll_back(std::list<Dirty>::const_iterator lost, Timeline& chance);
};

}  // namespace millrace::io
