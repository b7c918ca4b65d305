// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/fd.hpp"
#include "extent/extent.hpp"
#include "io/virtual/virtual_disk.hpp"
#include "seat.hpp"

namespace millrace::sim {

// The files that the MPI library has open in a rank's process, on the virtual disk. Calls block in the rank's
// fiber. Owned by RankProcess. Not thread safe.
class LibraryFiles {
 public:
  LibraryFiles(io::VirtualDisk& disk, std::uint32_t node, Seat& seat, io::Timeline& timeline);
  ~LibraryFiles();
  LibraryFiles(const LibraryFiles&) = delete;
  LibraryFiles& operator=(const LibraryFiles&) = delete;

  Result<io::Handle> open(const Fd& file);
  Status close(io::Handle file);  // tells the error of close(2)
  Status write(io::Handle file, std::uint64_t offset, std::span<const std::byte> data);
  Result<std::size_t> read(io::Handle file, std::uint64_t offset, std::span<std::byte> data);
  Status sync(io::Handle file);
  // Syncs the last file that was opened, by a descriptor that is older than the writes. Such a descriptor
  // gets the errors of all writes.
  Status datasync(const Fd& file);
  // Locks a part of the file, and waits for the lock. A process holds one lock at a time.
  void lock(io::Handle file, Extent extent);
  void unlock() { disk_.unlock(); }

  // The process, as the disk counts it.
  io::VirtualDisk::Process process() const { return process_; }

 private:
  Status carry_out(io::Request request);

  Seat& seat_;
  io::Timeline& timeline_;
  const io::VirtualDisk::Process process_;
  io::DiskProcess& disk_;
  std::map<io::Handle, io::Handle> for_sync_;  // by open(): another handle of the same time, for datasync()
  std::vector<io::Completion> done_;
};

}  // namespace millrace::sim
