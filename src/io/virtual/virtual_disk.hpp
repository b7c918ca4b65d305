// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "extent/extent.hpp"
#include "io/storage.hpp"
#include "io/virtual/timeline.hpp"
#include "io/virtual/trace.hpp"

namespace millrace::io {

struct DiskOptions {
  std::uint64_t rate_bytes_per_second = 200'000'000;    // one stream, in order
  std::uint64_t seek_ns = 100'000;                      // for what does not begin where the last one ended
  std::uint64_t sync_ns = 500'000;                      // a datasync, beside the bytes that it waits for
  std::uint64_t call_ns = 5'000;                        // any request
  std::uint64_t copy_bytes_per_second = 5'000'000'000;  // into the cache and out of it
  std::uint64_t cache_bytes = 64 << 20;                 // not on the disk yet: more waits for it
  std::uint64_t jitter_ns = 20'000;                     // by chance, so that completions change places
  std::uint64_t capacity_bytes = UINT64_MAX;            // of all files; what goes beyond is ENOSPC
};

// A file system that several nodes see, in virtual time: one disk, with the cache of each node's kernel
// before it. What is written is in the cache when the request completes, and goes on to the disk at once, in
// that order; a datasync completes when all is there that had completed before. Not thread safe.
//
//   write -> | cache: contents() | -> [disk: rate, seeks] -> stable()
//
// Descriptors of one file (device and inode) are one file; what their real file holds is neither read nor
// written. What was not made by create() goes with its last handle and its name. A write reads its memory
// when it completes, so that who changes it before has a wrong file.
class VirtualDisk {
 public:
  using File = std::size_t;
  using Process = std::uint32_t;  // of each node n, n is the first

  VirtualDisk(Timeline& timeline, Trace& trace, std::uint32_t nodes, const DiskOptions& options);
  ~VirtualDisk();
  VirtualDisk(const VirtualDisk&) = delete;
  VirtualDisk& operator=(const VirtualDisk&) = delete;

  // A descriptor to adopt (a memfd, empty), the next file.
  Fd create();
  // A real file that is empty, likewise.
  Fd create(const std::string& path);
  // Another machine has written the file anew: these are its bytes, in every cache and on the disk. Nobody
  // here writes to it.
  void put(const Fd& file, std::span<const std::byte> bytes);
  // A living process has it open: its inode number is not free.
  bool in_use(File file) const;
  // Somebody removes the file and makes another one of that name, with these bytes, which gets its number.
  void replace(File file, std::span<const std::byte> bytes);
  // Which file it is: real numbers, and a birth of its own.
  FileIdentity identify(const Fd& file);
  // One more process of a node: an agent that comes after one that has gone, or a recovery beside it.
  Process start(std::uint32_t node);
  // A process's end; valid as long as this is.
  Storage& of(Process process);
  // Called when its poll() has something new.
  void on_change(Process process, std::function<void()> wake);

  std::span<const std::byte> contents(File file) const;
  std::span<const std::byte> contents(const Fd& file) { return contents(file_of(file)); }
  // Whether it is here at all.
  bool knows(const Fd& file) const;
  // What is on the disk itself.
  std::span<const std::byte> stable(File file) const;

  // --- Faults ---

  // The disk takes so many times as long.
  void slow(std::uint64_t times) { slowness_ = times; }
  void set_capacity(std::uint64_t bytes) { options_.capacity_bytes = bytes; }
  // No more of all that: from now on the disk is as it should be.
  void repair();
  // The request of this kind after `skip` more fails, on whatever node. A write has moved a part by then; a
  // datasync loses what it was to bring to the disk, as page caches do.
  void fail(Op op, std::uint64_t skip, int error);
  // The process has gone: of writes in flight, any part may have been done; requests end at once from now on.
  // If `host`, so have all processes of its node, and the cache: of each 512 bytes that are not on the disk,
  // chance decides.
  void crash(Process process, bool host);

  // --- What the user of a Storage must not do, and what it may be held to ---

  // Memory changed too early, overlapping writes in flight.
  std::uint64_t misuses() const { return misuses_; }
  std::uint64_t most_in_flight(Process process) const;  // bytes of writes
  std::uint64_t bytes_asked(Process process) const;     // of writes and reads so far

 private:
  struct Image;
  struct Active;
  struct Dirty;
  struct Planned {
    Op op;
    std::uint64_t skip;
    int error;
  };
  class End;

  File file_of(const Fd& fd);
  Fd created(Fd fd);
  void released(File file, const Fd& fd);
  void forget_nameless();
  int planned_error(Op op);
  std::uint64_t occupy(File file, std::uint64_t offset, std::uint64_t bytes, std::uint64_t held);
  std::uint64_t start(Active& active);
  void complete(End& end, const std::shared_ptr<Active>& active);
  void kill(End& end);
  void write(Active& active);
  void settle(const Active& active, std::uint64_t most);
  void lose(const Active& active);
  void take_over(Image& image, std::uint32_t node, Extent extent);
  void roll_back(Image& image, std::list<Dirty>::const_iterator lost);
  void synced(End& end, Active& active);
  std::uint64_t used_bytes();

  Timeline& timeline_;
  Trace& trace_;
  std::uint32_t nodes_;
  DiskOptions options_;
  std::uint64_t capacity_bytes_;  // of the disk as it should be
  std::vector<std::unique_ptr<Image>> images_;
  std::vector<std::unique_ptr<End>> ends_;  // of processes
  std::vector<Planned> planned_;
  std::uint64_t free_ns_ = 0;  // when the disk has done all that it was given
  File last_file_ = 0;
  std::uint64_t last_end_ = 0;
  std::uint64_t slowness_ = 1;
  std::uint64_t misuses_ = 0;
};

}  // namespace millrace::io
