// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/virtual/virtual_disk.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "io/posix/identity.hpp"
#include "io/virtual/virtual_disk_impl.hpp"

namespace millrace::io {

namespace {

constexpr std::uint64_t day_ns = 24 * 3600ULL * 1'000'000'000;
constexpr std::uint64_t lock_look_ns = 20'000;  // the time between two looks at a lock

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

bool has_name(const Fd& fd) {
  struct stat about = {};
  return fstat(fd.get(), &about) == 0 && about.st_nlink > 0;
}

}  // namespace

VirtualDisk::VirtualDisk(Timeline& timeline, Trace& trace, std::uint32_t nodes, const DiskOptions& options)
    : timeline_(timeline),
      trace_(trace),
      nodes_(nodes),
      options_(options),
      capacity_bytes_(options.capacity_bytes) {
  for (std::uint32_t node = 0; node < nodes; ++node) (void)start(node);
}

VirtualDisk::~VirtualDisk() = default;

Fd VirtualDisk::created(Fd fd) {
  if (fd.valid()) images_[file_of(fd)]->created = true;
  return fd;
}

Fd VirtualDisk::create() { return created(Fd(memfd_create("virtual_disk", MFD_CLOEXEC))); }
Fd VirtualDisk::create(const std::string& path) {
  return created(Fd(::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600)));
}

void VirtualDisk::put(const Fd& file, std::span<const std::byte> bytes) {
  Image& image = *images_[file_of(file)];
  image.contents.assign(bytes.begin(), bytes.end());
  image.stable = image.contents;
  image.changed_ns = wall_ns();
}

void VirtualDisk::truncate(File file, std::uint64_t bytes) {
  Image& image = *images_[file];
  image.contents.resize(std::min<std::uint64_t>(bytes, image.contents.size()));
  image.stable.resize(std::min<std::uint64_t>(bytes, image.stable.size()));
}

bool VirtualDisk::in_use(File file) const {
  const auto has = [file](const End::Adopted& one) { return one.file == file && one.fd.valid(); };
  return std::ranges::any_of(
      ends_, [&has](const auto& end) { return !end->dead_ && std::ranges::any_of(end->adopted_, has); });
}

void VirtualDisk::replace(File file, std::span<const std::byte> bytes) {
  Image& image = *images_[file];
  ++image.births;
  image.dirty.clear();
  image.contents.assign(bytes.begin(), bytes.end());
  image.stable = image.contents;
}

void VirtualDisk::rewrite(File file, std::span<const std::byte> bytes) {
  Image& image = *images_[file];
  image.dirty.clear();
  image.contents.assign(bytes.begin(), bytes.end());
  image.stable = image.contents;
  image.changed_ns = wall_ns() + day_ns;
}

FileIdentity VirtualDisk::identify(const Fd& file) {
  const Image& image = *images_[file_of(file)];
  return {.device = mounts_, .inode = image.inode, .birth_ns = image.births};
}

Result<FileState> VirtualDisk::state_of(const Fd& file) const {
  struct stat about = {};
  if (fstat(file.get(), &about) != 0) return Status::from_errno(errno);
  const auto same = std::ranges::find_if(images_, [&about](const auto& image) { return image->is(about); });
  return same != images_.end() ? Result((*same)->state()) : io::state_of(file);
}

// Called when a process has released a file. If the file has no name, the system may give its inode to
// another file now. Otherwise the disk's own descriptor keeps the inode. It is not the user's descriptor,
// which may hold a lock.
void VirtualDisk::released(File file, const Fd& fd) {
  const auto has = [file](const End::Adopted& one) { return one.file == file && one.fd.valid(); };
  for (const auto& end : ends_) {
    if (std::ranges::any_of(end->adopted_, has)) return;
  }
  Image& image = *images_[file];
  if (image.created) return;
  const std::string own = "/proc/self/fd/" + std::to_string(fd.get());
  if (has_name(fd)) image.kept.reset(::open(own.c_str(), O_RDONLY | O_CLOEXEC));
  if (!image.kept.valid()) image.forget();
}

void VirtualDisk::forget_nameless() {
  for (const auto& image : images_) {
    if (image->kept.valid() && !has_name(image->kept)) image->forget();
  }
}

bool VirtualDisk::knows(const Fd& file) const {
  struct stat about = {};
  return fstat(file.get(), &about) == 0 &&
         std::ranges::any_of(images_, [&about](const auto& image) { return image->is(about); });
}

VirtualDisk::File VirtualDisk::file_of(const Fd& fd) {
  struct stat about = {};
  (void)fstat(fd.get(), &about);
  forget_nameless();
  const auto same = std::ranges::find_if(images_, [&about](const auto& image) { return image->is(about); });
  if (same != images_.end()) return static_cast<File>(same - images_.begin());
  images_.push_back(std::make_unique<Image>());
  images_.back()->device = about.st_dev;
  images_.back()->inode = about.st_ino;
  images_.back()->losses.resize(nodes_);
  return images_.size() - 1;
}

VirtualDisk::Process VirtualDisk::start(std::uint32_t node, bool locks) {
  ends_.push_back(std::make_unique<End>(*this, node, locks));
  return static_cast<Process>(ends_.size() - 1);
}

// --- Locks ---

bool VirtualDisk::locked_for(const End& end, const Image& image, Extent extent) {
  return std::ranges::any_of(image.locks, [&end, extent](const Image::Lock& lock) {
    return lock.owner != &end && lock.extent.intersects(extent);
  });
}

bool VirtualDisk::lock(Process process, Handle file, Extent extent) {
  const End& end = *ends_[process];
  Image& image = *images_[end.adopted_[file].file];
  if (end.dead_ || locked_for(end, image, extent)) return false;
  image.locks.push_back({&end, extent});
  return true;
}

void VirtualDisk::unlock(Process process) { unlock(*ends_[process]); }

void VirtualDisk::unlock(const End& owner) {
  for (const auto& image : images_)
    std::erase_if(image->locks, [&owner](const Image::Lock& lock) { return lock.owner == &owner; });
}

Storage& VirtualDisk::of(Process process) { return *ends_[process]; }
void VirtualDisk::on_change(Process process, std::function<void()> wake) {
  ends_[process]->wake = std::move(wake);
}

std::span<const std::byte> VirtualDisk::contents(File file) const { return images_.at(file)->contents; }
std::span<const std::byte> VirtualDisk::stable(File file) const { return images_.at(file)->stable; }
std::uint64_t VirtualDisk::most_in_flight(Process process) const { return ends_[process]->most_in_flight_; }
std::uint64_t VirtualDisk::bytes_asked(Process process) const { return ends_[process]->asked_; }

std::uint64_t VirtualDisk::used_bytes() {
  forget_nameless();
  std::uint64_t used = 0;
  for (const auto& image : images_) used += image->contents.size();
  return used;
}

// --- Time ---

// Adds a request of `held` bytes of data to the disk's work. Returns the time at which the disk has finished
// it.
std::uint64_t VirtualDisk::occupy(File file, std::uint64_t offset, std::uint64_t bytes, std::uint64_t held) {
  const bool follows = file == last_file_ && offset == last_end_;
  const std::uint64_t work =
      (follows ? 0 : options_.seek_ns) + duration_ns(held, options_.rate_bytes_per_second);
  free_ns_ = std::max(free_ns_, timeline_.now_ns()) + work * slowness_;
  last_file_ = file;
  last_end_ = offset + bytes;
  return free_ns_;
}

// Returns the time at which the request completes.
std::uint64_t VirtualDisk::start(const End& end, Active& active) {
  return std::max(ends(end, active), stalled_until_ns_);
}

std::uint64_t VirtualDisk::ends(const End& end, Active& active) {
  const Request& request = active.request;
  active.error = request.op == Op::close ? close_error(active.file, end) : planned_error(request.op);
  trace_.note(timeline_.now_ns(), active.node, "asks the disk: op offset bytes",
              static_cast<std::uint64_t>(request.op), request.offset, active.bytes);
  const std::uint64_t soon = timeline_.now_ns() + options_.call_ns + timeline_.below(options_.jitter_ns + 1);
  const std::uint64_t copied = soon + duration_ns(active.held, options_.copy_bytes_per_second);
  switch (request.op) {
    case Op::write: {
      active.digest = digest(request.data);
      if (active.direct)
        return std::max(copied, occupy(active.file, request.offset, active.bytes, active.held));
      // If the cache is full, the write waits until the disk has taken enough bytes.
      const std::uint64_t cached_ns = duration_ns(options_.cache_bytes, options_.rate_bytes_per_second);
      return std::max(copied, free_ns_ > cached_ns ? free_ns_ - cached_ns : 0);
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
      if (active.error != 0) lose(active);
      const std::list<Dirty>& dirty = images_[active.file]->dirty;
      if (dirty.empty()) return soon;
      for (const Dirty& one : dirty) until = std::max(until, one.until_ns);
      return until + options_.sync_ns;
    }
  }
  return soon;
}

// --- Completion ---

void VirtualDisk::complete(End& end, const std::shared_ptr<Active>& active) {
  if (active->over) return;
  const Request& request = active->request;
  if (request.op == Op::call) {
    active->over = true;
    end.end(*active);
    if (end.wake) end.wake();
    return;
  }
  Image& image = *images_[active->file];
  if (request.op == Op::write && end.locks_ && locked_for(end, image, active->extent())) {
    timeline_.at(timeline_.now_ns() + lock_look_ns, [this, &end, active] { complete(end, active); });
    return;
  }
  active->over = true;
  if (request.op == Op::write) write(end, *active);
  if (request.op == Op::read && active->error == 0) {
    const std::uint64_t size = image.contents.size();
    const std::uint64_t there = request.offset < size ? size - request.offset : 0;
    active->moved = std::min(active->bytes, there);
    each_part(request, active->moved, [&image](std::uint64_t at, std::byte* to, std::uint64_t bytes) {
      std::memcpy(to, image.contents.data() + at, bytes);
    });
  }
  if (request.op == Op::datasync) synced(end, *active);
  if (request.op == Op::close) close(active->file, end, active->error);
  if (request.op == Op::close) end.adopted_[active->handle].closed |= request.last;
  if (request.op == Op::resize && active->error == 0) image.contents.resize(request.length);
  if (request.op == Op::writeback) active->error = 0;
  trace_.note(timeline_.now_ns(), end.node_, "disk answers: op offset errno",
              static_cast<std::uint64_t>(request.op), request.offset,
              static_cast<std::uint64_t>(active->error));
  end.end(*active);
  if (end.wake) end.wake();
}

// A datasync fails: the dirty bytes of its node never reach the disk.
void VirtualDisk::lose(const Active& active) {
  Image& image = *images_[active.file];
  std::erase_if(image.dirty, [&active](const Dirty& one) { return one.node == active.node; });
  ++image.losses[active.node];
}

void VirtualDisk::stall(std::uint64_t for_ns) { stalled_until_ns_ = timeline_.now_ns() + for_ns; }

// Every handle of a node reports such a loss once, at a datasync.
void VirtualDisk::synced(End& end, Active& active) {
  const std::uint32_t losses = images_[active.file]->losses[active.node];
  if (std::exchange(end.adopted_[active.handle].told, losses) != losses) active.error = EIO;
}

// Writes the bytes into the cache. The disk gets them later.
void VirtualDisk::write(const End& end, Active& active) {
  Image& image = *images_[active.file];
  const Request& request = active.request;
  if (digest(request.data) != active.digest) ++misuses_;
  std::uint64_t most = active.bytes;
  // A write that fails has written some bytes. A sector is written as a whole.
  const bool one_sector = active.bytes == sector && request.offset % sector == 0;
  if (active.error != 0) most = one_sector ? 0 : timeline_.below(active.bytes);
  const std::uint64_t used = used_bytes();
  const std::uint64_t room = options_.capacity_bytes > used ? options_.capacity_bytes - used : 0;
  const std::uint64_t size = image.contents.size();
  if (request.offset + most > size && request.offset + most - size > room) {
    active.error = ENOSPC;
    most = size + room > request.offset ? std::min(most, size + room - request.offset) : 0;
  }
  if (most > 0 && request.offset + most > size) image.contents.resize(request.offset + most);
  each_part(request, most, [&](std::uint64_t at, const std::byte* from, std::uint64_t bytes) {
    take_over(image, active.node, {at, at + bytes});
    std::memcpy(image.contents.data() + at, from, bytes);
    active.moved += bytes;
  });
  if (most > 0) image.changed_ns = wall_ns();
  if (most > 0) settle(end, active, most);
}

// Before a node overwrites bytes in another node's cache, these bytes go to the disk. File systems whose
// nodes see each other's writes do the same.
void VirtualDisk::take_over(Image& image, std::uint32_t node, Extent extent) {
  for (const Dirty& one : image.dirty) {
    const Extent both = intersection(one.extent, extent);
    if (one.node == node || both.empty()) continue;
    if (image.stable.size() < both.end) image.stable.resize(both.end);
    std::memcpy(image.stable.data() + both.begin, image.contents.data() + both.begin, both.size());
  }
}

// Marks the first `most` bytes of a write as dirty, until the disk has taken them.
void VirtualDisk::settle(const End& end, const Active& active, std::uint64_t most) {
  Image& image = *images_[active.file];
  const std::uint64_t until =
      active.direct ? timeline_.now_ns() : occupy(active.file, active.request.offset, most, active.moved);
  each_part(active.request, most, [&](std::uint64_t at, const std::byte*, std::uint64_t bytes) {
    image.dirty.push_back({&end, active.node, {at, at + bytes}, until, !active.direct});
  });
  timeline_.at(until, [&image, this] {
    while (!image.dirty.empty() && image.dirty.front().until_ns <= timeline_.now_ns()) {
      const std::uint64_t size = image.contents.size();
      const Extent done = intersection(image.dirty.front().extent, {0, size});
      if (image.stable.size() < done.end) image.stable.resize(done.end);
      if (!done.empty())
        std::memcpy(image.stable.data() + done.begin, image.contents.data() + done.begin, done.size());
      image.dirty.pop_front();
    }
  });
}

}  // namespace millrace::io
