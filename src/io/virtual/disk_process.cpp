// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/virtual/disk_process.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/checksum.hpp"
#include "io/virtual/virtual_disk.hpp"

namespace millrace::io {

namespace {

constexpr std::uint64_t lock_look_ns = 20'000;  // the time between two looks at a lock

std::uint64_t total(const std::vector<iovec>& data, bool gaps) {
  std::uint64_t bytes = 0;
  for (const iovec& part : data) bytes += gaps || part.iov_base != nullptr ? part.iov_len : 0;
  return bytes;
}

std::uint64_t digest(const std::vector<iovec>& data) {
  std::uint64_t sum = 0;
  for (const iovec& part : data) {
    if (part.iov_base != nullptr) sum = checksum(part.iov_base, part.iov_len, sum);
  }
  return sum;
}

// Calls f(offset in the file, memory, bytes) for the parts of the first `most` bytes, without gaps.
template <class F>
void each_part(const Request& request, std::uint64_t most, F f) {
  std::uint64_t at = 0;
  for (const iovec& part : request.data) {
    if (at >= most) return;
    const std::uint64_t bytes = std::min<std::uint64_t>(part.iov_len, most - at);
    if (part.iov_base != nullptr) f(request.offset + at, static_cast<std::byte*>(part.iov_base), bytes);
    at += part.iov_len;
  }
}

}  // namespace

DiskImage& DiskProcess::image_of(const Active& active) const { return *disk_.images_[active.file]; }

bool DiskProcess::has_open(std::size_t file) const {
  return std::ranges::any_of(adopted_,
                             [file](const Adopted& one) { return one.file == file && one.fd.valid(); });
}

Result<Handle> DiskProcess::adopt(Fd file, bool direct) {
  const std::size_t number = disk_.file_of(file);
  adopted_.push_back({std::move(file), number, direct, false, disk_.images_[number]->losses[node_]});
  return static_cast<Handle>(adopted_.size() - 1);
}

void DiskProcess::release(Handle file) {
  const Fd fd = std::move(adopted_[file].fd);
  const std::size_t number = adopted_[file].file;
  if (!dead_ && !adopted_[file].closed) close(number, close_error(number));
  disk_.released(number, fd);
}

Result<std::uint64_t> DiskProcess::size(Handle file) {
  return std::uint64_t{disk_.images_[adopted_[file].file]->contents.size()};
}

Result<FileIdentity> DiskProcess::identify(const Fd& file, bool) { return disk_.identify(file); }

// The agent's page names files by the device that ranks see now.
Result<FileIdentity> DiskProcess::recognise(const Fd& file) { return disk_.recognise(file); }

Result<FileState> DiskProcess::state_of(const Fd& file) { return disk_.state_of(file); }
std::uint64_t DiskProcess::wall_ns() const { return disk_.wall_ns(); }

void DiskProcess::submit(Request request) {
  auto active = std::make_shared<Active>();
  if (request.op != Op::call) {
    active->handle = request.file;
    active->file = adopted_[request.file].file;
    active->direct = adopted_[request.file].direct;
  }
  active->bytes = total(request.data, true);
  active->held = total(request.data, false);
  asked_ += active->held;
  active->request = std::move(request);
  held_.push_back(std::move(active));
}

void DiskProcess::kick() {
  for (const auto& active : held_) begin(active);
  held_.clear();
}

void DiskProcess::poll(std::vector<Completion>& out) {
  out.insert(out.end(), done_.begin(), done_.end());
  done_.clear();
}

// --- Locks ---

bool DiskProcess::lock(Handle file, Extent extent) {
  return !dead_ && disk_.images_[adopted_[file].file]->lock(*this, extent);
}

void DiskProcess::unlock() {
  for (const auto& image : disk_.images_) image->unlock(*this);
}

// --- Requests ---

void DiskProcess::begin(const std::shared_ptr<Active>& active) {
  if (dead_) {
    done_.push_back({active->request.token, Status::from_errno(EIO), 0});
    return;
  }
  const std::uint64_t when = std::max(ends_ns(*active), disk_.faults_.stalled_until_ns());
  if (active->request.op == Op::write) {
    check(*active);
    in_flight_ += active->held;
    most_in_flight_ = std::max(most_in_flight_, in_flight_);
  }
  active_.push_back(active);
  disk_.timeline_.at(when, [this, active] { complete(active); });
}

// Counts overlapping writes in flight as misuse, because either may be the last to write the common bytes.
void DiskProcess::check(const Active& active) {
  for (const auto& other : active_) {
    if (other->request.op == Op::write && other->file == active.file &&
        other->extent().intersects(active.extent()))
      ++disk_.misuses_;
  }
}

// Returns the time at which the request completes, if the disk does not stall.
std::uint64_t DiskProcess::ends_ns(Active& active) {
  const Request& request = active.request;
  const DiskOptions& options = disk_.options_;
  Timeline& timeline = disk_.timeline_;
  active.error = request.op == Op::close ? close_error(active.file) : disk_.faults_.next_error(request.op);
  disk_.trace_.note(timeline.now_ns(), node_, "asks the disk: op offset bytes",
                    static_cast<std::uint64_t>(request.op), request.offset, active.bytes);
  const std::uint64_t soon = timeline.now_ns() + options.call_ns + timeline.below(options.jitter_ns + 1);
  const std::uint64_t copied = soon + duration_ns(active.held, options.copy_bytes_per_second);
  switch (request.op) {
    case Op::write: {
      active.digest = digest(request.data);
      if (active.direct)
        return std::max(copied, disk_.occupy(active.file, request.offset, active.bytes, active.held));
      // If the cache is full, the write waits until the disk has taken enough bytes.
      const std::uint64_t cached_ns = duration_ns(options.cache_bytes, options.rate_bytes_per_second);
      return std::max(copied, disk_.free_ns_ > cached_ns ? disk_.free_ns_ - cached_ns : 0);
    }
    case Op::read:
      return copied;
    case Op::writeback:
    case Op::look:
    case Op::close:
    case Op::resize:
    case Op::call:
      return soon;
    case Op::datasync: {
      std::uint64_t until = soon;
      if (active.error != 0) image_of(active).lose_dirty(node_);
      const auto& dirty = image_of(active).dirty;
      if (dirty.empty()) return soon;
      for (const DiskImage::Dirty& one : dirty) until = std::max(until, one.until_ns);
      return until + options.sync_ns;
    }
  }
  return soon;
}

void DiskProcess::complete(const std::shared_ptr<Active>& active) {
  if (active->over) return;
  const Request& request = active->request;
  if (request.op == Op::call) {
    active->over = true;
    return end(*active);
  }
  DiskImage& image = image_of(*active);
  if (request.op == Op::write && locks_ && image.locked_for(*this, active->extent())) {
    disk_.timeline_.at(disk_.timeline_.now_ns() + lock_look_ns, [this, active] { complete(active); });
    return;
  }
  active->over = true;
  if (request.op == Op::write) write(*active);
  if (request.op == Op::read && active->error == 0) read(*active);
  // Every handle of a node reports a loss once, at a datasync.
  const std::uint32_t losses = image.losses[node_];
  if (request.op == Op::datasync && std::exchange(adopted_[active->handle].told, losses) != losses)
    active->error = EIO;
  if (request.op == Op::close) close(active->file, active->error);
  if (request.op == Op::close) adopted_[active->handle].closed |= request.last;
  if (request.op == Op::resize && active->error == 0) image.contents.resize(request.length);
  if (request.op == Op::writeback) active->error = 0;
  disk_.trace_.note(disk_.timeline_.now_ns(), node_, "disk answers: op offset errno",
                    static_cast<std::uint64_t>(request.op), request.offset,
                    static_cast<std::uint64_t>(active->error));
  end(*active);
}

void DiskProcess::end(const Active& active) {
  if (active.request.op == Op::write) in_flight_ -= active.held;
  std::erase_if(active_, [&active](const auto& one) { return one.get() == &active; });
  done_.push_back({active.request.token, Status::from_errno(active.error), active.moved});
  if (active.request.op == Op::call) done_.back().status = active.request.act();
  if (active.request.op == Op::look) done_.back().state = image_of(active).state();
  done_.back().direct = active.direct;
  if (wake_) wake_();
}

void DiskProcess::read(Active& active) {
  const DiskImage& image = image_of(active);
  const std::uint64_t size = image.contents.size();
  const std::uint64_t there = active.request.offset < size ? size - active.request.offset : 0;
  active.moved = std::min(active.bytes, there);
  each_part(active.request, active.moved, [&image](std::uint64_t at, std::byte* to, std::uint64_t bytes) {
    std::memcpy(to, image.contents.data() + at, bytes);
  });
}

// Writes the bytes into the cache. The disk gets them later.
void DiskProcess::write(Active& active) {
  DiskImage& image = image_of(active);
  const Request& request = active.request;
  if (digest(request.data) != active.digest) ++disk_.misuses_;
  std::uint64_t most = active.bytes;
  // A write that fails has written some bytes. A sector is written as a whole.
  const bool one_sector = active.bytes == sector && request.offset % sector == 0;
  if (active.error != 0) most = one_sector ? 0 : disk_.timeline_.below(active.bytes);
  const std::uint64_t used = disk_.used_bytes();
  const std::uint64_t room =
      disk_.faults_.capacity_bytes() > used ? disk_.faults_.capacity_bytes() - used : 0;
  const std::uint64_t size = image.contents.size();
  if (request.offset + most > size && request.offset + most - size > room) {
    active.error = ENOSPC;
    most = size + room > request.offset ? std::min(most, size + room - request.offset) : 0;
  }
  if (most > 0 && request.offset + most > size) image.contents.resize(request.offset + most);
  each_part(request, most, [&](std::uint64_t at, const std::byte* from, std::uint64_t bytes) {
    image.take_over(node_, {at, at + bytes});
    std::memcpy(image.contents.data() + at, from, bytes);
    active.moved += bytes;
  });
  if (most > 0) image.changed_ns = wall_ns();
  if (most > 0) settle(active, most);
}

// Marks the first `most` bytes of a write as dirty, until the disk has taken them.
void DiskProcess::settle(const Active& active, std::uint64_t most) {
  DiskImage& image = image_of(active);
  const std::uint64_t until = active.direct
                                  ? disk_.timeline_.now_ns()
                                  : disk_.occupy(active.file, active.request.offset, most, active.moved);
  each_part(active.request, most, [&](std::uint64_t at, const std::byte*, std::uint64_t bytes) {
    image.dirty.push_back({this, node_, {at, at + bytes}, until, !active.direct});
  });
  disk_.timeline_.at(until, [&image, &timeline = disk_.timeline_] { image.advance(timeline.now_ns()); });
}

// The process dies. Its writes in flight may be complete.
void DiskProcess::kill() {
  dead_ = true;
  wake_ = nullptr;
  const auto active = std::exchange(active_, {});
  for (const auto& one : active) {
    one->error = EIO;
    const bool writes = one->request.op == Op::write;
    if (writes && !(locks_ && image_of(*one).locked_for(*this, one->extent()))) write(*one);
    one->over = true;
    done_.push_back({one->request.token, Status::from_errno(EIO), 0});
  }
  unlock();
}

// --- Closes ---

int DiskProcess::close(Handle file) {
  const std::size_t number = adopted_[file].file;
  const int error = close_error(number);
  close(number, error);
  return error;
}

// Only a close after writes may fail, and only of the first file: copies and journals are of this machine.
int DiskProcess::close_error(std::size_t file) {
  return file == 0 && disk_.images_[file]->has_accepted(*this) ? disk_.faults_.next_error(Op::close) : 0;
}

void DiskProcess::close(std::size_t file, int error) {
  DiskImage& image = *disk_.images_[file];
  image.bring_to_server(*this, error != 0, disk_.timeline_);
  disk_.refused_ |= error != 0;
  if (error != 0) ++image.losses[node_];  // datasyncs of all handles tell it
}

}  // namespace millrace::io
