// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "extent/extent.hpp"
#include "io/storage.hpp"
#include "io/virtual/disk_faults.hpp"
#include "io/virtual/disk_image.hpp"
#include "io/virtual/disk_process.hpp"
#include "io/virtual/timeline.hpp"
#include "io/virtual/trace.hpp"

namespace millrace::io {

struct DiskOptions {
  std::uint64_t rate_bytes_per_second = 200'000'000;  // of one stream in file order
  std::uint64_t seek_ns = 100'000;  // for a write that does not begin at the end of the last write
  std::uint64_t sync_ns = 500'000;  // for a datasync, besides the time of the bytes that it waits for
  std::uint64_t call_ns = 5'000;    // for any request
  std::uint64_t copy_bytes_per_second = 5'000'000'000;  // to and from the cache
  std::uint64_t cache_bytes = 64 << 20;       // bytes that are not on the disk; writes of more bytes wait
  std::uint64_t jitter_ns = 20'000;           // the most random delay, so that completions change their order
  std::uint64_t capacity_bytes = UINT64_MAX;  // of all files together; more is ENOSPC
  bool tells_births = true;  // else files have neither times of birth nor handles, but take marks, and the
                             // file system keeps its device number
};

// A file system that several nodes see, in virtual time. It is one disk, and each node's kernel has a cache.
// When a write completes, its bytes are in the cache. They then go to the disk at once, in the order of
// completion. A datasync completes when all earlier completed writes are on the disk. Not thread safe.
//
//   write -> | cache: contents() | -> [disk: rate, seeks] -> stable()
//
// Descriptors with the same device and inode are one file. Its real contents are neither read nor written. A
// file that create() did not make disappears with its last handle and its name. A write reads its memory when
// it completes, so a caller that changes the memory earlier gets a wrong file.
class VirtualDisk {
 public:
  using File = std::size_t;
  using Process = std::uint32_t;  // the first process of node n has number n
  static constexpr std::uint64_t epoch_ns = 100'000'000'000'000'000;  // the date at time 0: in 1973

  VirtualDisk(Timeline& timeline, Trace& trace, std::uint32_t nodes, const DiskOptions& options);
  ~VirtualDisk();
  VirtualDisk(const VirtualDisk&) = delete;
  VirtualDisk& operator=(const VirtualDisk&) = delete;

  // Makes the next file. Returns a descriptor to adopt (an empty memfd).
  Fd create();
  // The same with an empty real file at `path`.
  Fd create(const std::string& path);
  // Acts as another machine that has written the whole file: these bytes are in every cache and on the disk.
  // No node here may write to the file.
  void put(const Fd& file, std::span<const std::byte> bytes);
  // Acts as another machine that has truncated the file.
  void truncate(File file, std::uint64_t bytes);
  // True if a living process has the file open. Then its inode number is not free.
  bool in_use(File file) const;
  // Removes the file and makes another one with the same name, these bytes and the same inode number.
  void replace(File file, std::span<const std::byte> bytes);
  // Acts as a program on another machine that writes the whole file anew, a day from now.
  void rewrite(File file, std::span<const std::byte> bytes);
  // Mounts the file system anew: it has another device number.
  void mount_again() { ++mounts_; }
  std::uint64_t mounts() const { return mounts_; }  // so far
  // The clock that gives files their times, and programs the date. It may be set back.
  std::uint64_t wall_ns() const { return epoch_ns + timeline_.now_ns() - back_ns_; }
  void set_clock_back(std::uint64_t by_ns) { back_ns_ += by_ns; }
  // The file's identity, with its real inode number, and a birth time or mark and device number that the disk
  // gives it.
  FileIdentity identify(const Fd& file);
  // The same with the device number that ranks see now, and without a mark, as storages recognise a file; or
  // with one, which a file without time of birth then gets.
  FileIdentity recognise(const Fd& file, bool marks = false);
  // Its state; that of the real file if the disk does not have it. The times are those of the virtual clock.
  // A crash of a node may set them back.
  Result<FileState> state_of(const Fd& file) const;
  // Adds a process to a node: a new agent after an old one has ended, or a recovery beside it. `locks`: its
  // writes wait for locks of other processes (io/posix/extent_lock.hpp).
  Process start(std::uint32_t node, bool locks = true);
  // A process is valid as long as the disk exists.
  DiskProcess& of(Process process) { return *processes_[process]; }
  const DiskProcess& of(Process process) const { return *processes_[process]; }
  std::span<const std::byte> contents(File file) const { return images_.at(file)->contents; }
  std::span<const std::byte> contents(const Fd& file) { return contents(file_of(file)); }
  // True if the disk has the file.
  bool knows(const Fd& file) const;
  // The contents on the disk, without the caches.
  std::span<const std::byte> stable(File file) const { return images_.at(file)->stable; }

  // --- Faults ---

  DiskFaults& faults() { return faults_; }
  // Ends the process. Its writes in flight may be complete, and later requests fail at once. With `host`, all
  // processes of its node end, and the cache is lost. Chance decides for each 512 bytes that are not on the
  // disk whether they are kept.
  void crash(Process process, bool host);
  // How often the node has gone down.
  std::uint64_t boots(std::uint32_t node) const { return boots_.contains(node) ? boots_.at(node) : 0; }

  // --- Misuse of the Storage, and counters ---

  // The number of writes whose memory changed too early, and of overlapping writes in flight.
  std::uint64_t misuses() const { return misuses_; }
  // True if a close has lost bytes.
  bool has_refused() const { return refused_; }

 private:
  friend class DiskProcess;

  File file_of(const Fd& fd);
  Fd created(Fd fd);
  void released(File file, const Fd& fd);
  void forget_nameless();
  std::uint64_t occupy(File file, std::uint64_t offset, std::uint64_t bytes, std::uint64_t held);
  std::uint64_t used_bytes();

  Timeline& timeline_;
  Trace& trace_;
  std::uint32_t nodes_;
  DiskOptions options_;
  DiskFaults faults_;
  std::vector<std::unique_ptr<DiskImage>> images_;
  std::vector<std::unique_ptr<DiskProcess>> processes_;
  std::uint64_t free_ns_ = 0;  // the time when the disk has finished all requests so far
  File last_file_ = 0;
  std::uint64_t last_end_ = 0;
  std::uint64_t mounts_ = 1;
  std::uint64_t births_ = 0;
  std::map<std::uint32_t, std::uint64_t> boots_;
  std::uint64_t back_ns_ = 0;
  bool refused_ = false;
  std::uint64_t misuses_ = 0;
};

}  // namespace millrace::io
