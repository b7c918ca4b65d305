// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "library_files.hpp"

#include <unistd.h>

#include <utility>

namespace millrace::sim {

namespace {
constexpr std::uint64_t lock_look_ns = 20'000;
}  // namespace

LibraryFiles::LibraryFiles(io::VirtualDisk& disk, std::uint32_t node, Seat& seat, io::Timeline& timeline)
    : seat_(seat), timeline_(timeline), process_(disk.start(node, false)), disk_(disk.of(process_)) {
  disk_.on_change([this] {
    if (!seat_.gone()) seat_.rouse_after(0);
  });
}

LibraryFiles::~LibraryFiles() { disk_.on_change(nullptr); }

Result<io::Handle> LibraryFiles::open(const Fd& file) {
  const Result<io::Handle> opened = disk_.adopt(Fd(::dup(file.get())), false);
  const Result<io::Handle> for_sync = disk_.adopt(Fd(::dup(file.get())), false);
  if (opened && for_sync) for_sync_[*opened] = *for_sync;
  return opened;
}

Status LibraryFiles::close(io::Handle file) {
  const Status told = Status::from_errno(disk_.close(file));
  disk_.release(file);
  if (const auto other = for_sync_.extract(file)) disk_.release(other.mapped());
  return told;
}

Status LibraryFiles::write(io::Handle file, std::uint64_t offset, std::span<const std::byte> data) {
  io::Request request{io::Op::write, file, offset, data.size(), {}, 0};
  request.data.push_back({const_cast<std::byte*>(data.data()), data.size()});
  return carry_out(std::move(request));
}

Result<std::size_t> LibraryFiles::read(io::Handle file, std::uint64_t offset, std::span<std::byte> data) {
  io::Request request{io::Op::read, file, offset, data.size(), {}, 0};
  request.data.push_back({data.data(), data.size()});
  if (const Status status = carry_out(std::move(request)); !status.ok()) return status;
  return std::size_t{done_.front().bytes};
}

void LibraryFiles::lock(io::Handle file, Extent extent) {
  while (!seat_.gone() && !disk_.lock(file, extent)) seat_.sleep_until(timeline_.now_ns() + lock_look_ns);
}

Status LibraryFiles::sync(io::Handle file) { return carry_out({io::Op::datasync, file, 0, 0, {}, 0}); }

Status LibraryFiles::datasync(const Fd& file) {
  if (!for_sync_.empty()) return sync(for_sync_.rbegin()->second);
  const Result<io::Handle> handle = open(file);
  if (!handle) return handle.status();
  const Status status = sync(*handle);
  const Status told = close(*handle);
  return status.ok() ? told : status;
}

// A process makes one system call at a time.
Status LibraryFiles::carry_out(io::Request request) {
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

}  // namespace millrace::sim
