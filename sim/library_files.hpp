// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
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
  LibraryFiles(io::VirtualDisk& disk, std::uint32_t node, Seat& seat, io::Timeline& timeline)
      : seat_(seat), timeline_(timeline), process_(disk.start(node, false)), disk_(disk.of(process_)) {
    disk_.on_change([this] {
      if (!seat_.gone()) seat_.rouse_after(0);
    });
  }
  ~LibraryFiles() { disk_.on_change(nullptr); }
  LibraryFiles(const LibraryFiles&) = delete;
  LibraryFiles& operator=(const LibraryFiles&) = delete;

  Result<io::Handle> open(const Fd& file) {
    const Result<io::Handle> opened = disk_.adopt(Fd(::dup(file.get())), false);
    const Result<io::Handle> for_sync = disk_.adopt(Fd(::dup(file.get())), false);
    if (opened && for_sync) for_sync_[*opened] = *for_sync;
    return opened;
  }
  // tells the error of close(2)
  Status close(io::Handle file) {
    const Status told = Status::from_errno(disk_.close(file));
    disk_.release(file);
    if (const auto other = for_sync_.extract(file)) disk_.release(other.mapped());
    return told;
  }
  Status write(io::Handle file, std::uint64_t offset, std::span<const std::byte> data) {
    io::Request request{io::Op::write, file, offset, data.size(), {}, 0};
    request.data.push_back({const_cast<std::byte*>(data.data()), data.size()});
    return carry_out(std::move(request));
  }
  Result<std::size_t> read(io::Handle file, std::uint64_t offset, std::span<std::byte> data) {
    io::Request request{io::Op::read, file, offset, data.size(), {}, 0};
    request.data.push_back({data.data(), data.size()});
    if (const Status status = carry_out(std::move(request)); !status.ok()) return status;
    return std::size_t{done_.front().bytes};
  }
  Status sync(io::Handle file) { return carry_out({io::Op::datasync, file, 0, 0, {}, 0}); }
  // Syncs the last file that was opened, by a descriptor that is older than the writes. Such a descriptor
  // gets the errors of all writes.
  Status datasync(const Fd& file) {
    if (!for_sync_.empty()) return sync(for_sync_.rbegin()->second);
    const Result<io::Handle> handle = open(file);
    if (!handle) return handle.status();
    const Status status = sync(*handle);
    const Status told = close(*handle);
    return status.ok() ? told : status;
  }
  // Locks a part of the file, and waits for the lock. A process holds one lock at a time.
  void lock(io::Handle file, Extent extent) {
    while (!seat_.gone() && !disk_.lock(file, extent)) seat_.sleep_until(timeline_.now_ns() + lock_look_ns);
  }
  void unlock() { disk_.unlock(); }

  // The process, as the disk counts it.
  io::VirtualDisk::Process process() const { return process_; }

 private:
  static constexpr std::uint64_t lock_look_ns = 20'000;

  // A process makes one system call at a time.
  Status carry_out(io::Request request) {
    if (seat_.gone()) return Code::io;
    done_.clear();
    disk_.submit(std::move(request));
    disk_.kick();
    while (disk_.poll(done_), done_.empty()) {
      if (seat_.gone()) return Code::io;
      seat_.sleep();
    }
    return done_.front().status;
  }

  Seat& seat_;
  io::Timeline& timeline_;
  const io::VirtualDisk::Process process_;
  io::DiskProcess& disk_;
  std::map<io::Handle, io::Handle> for_sync_;  // by open(): another handle of the same time, for datasync()
  std::vector<io::Completion> done_;
};

}  // namespace millrace::sim
