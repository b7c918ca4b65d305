// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/virtual/virtual_disk.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "io/posix/identity.hpp"

namespace millrace::io {

namespace {

constexpr std::uint64_t day_ns = 24 * 3600ULL * 1'000'000'000;

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
      faults_(timeline, options.capacity_bytes) {
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
  DiskImage& image = *images_[file_of(file)];
  image.fill(bytes);
  image.changed_ns = wall_ns();
}

void VirtualDisk::truncate(File file, std::uint64_t bytes) { images_[file]->truncate(bytes); }

bool VirtualDisk::in_use(File file) const {
  return std::ranges::any_of(processes_,
                             [file](const auto& one) { return !one->dead_ && one->has_open(file); });
}

void VirtualDisk::replace(File file, std::span<const std::byte> bytes) {
  DiskImage& image = *images_[file];
  image.birth = ++births_;
  image.mark = unmarked;
  image.fill(bytes);
}

void VirtualDisk::rewrite(File file, std::span<const std::byte> bytes) {
  DiskImage& image = *images_[file];
  image.fill(bytes);
  image.changed_ns = wall_ns() + day_ns;
}

FileIdentity VirtualDisk::identify(const Fd& file) {
  const DiskImage& image = *images_[file_of(file)];
  if (options_.tells_births) return {.device = mounts_, .inode = image.inode, .birth_ns = image.birth};
  return {.device = image.device, .inode = image.inode, .mark = image.mark};
}

FileIdentity VirtualDisk::recognise(const Fd& file, bool marks) {
  DiskImage& image = *images_[file_of(file)];
  if (marks) image.mark = unmarked + image.birth;
  FileIdentity identity = identify(file);
  identity.device = image.device;
  if (!marks) identity.mark = 0;
  return identity;
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
  if (std::ranges::any_of(processes_, [file](const auto& one) { return one->has_open(file); })) return;
  DiskImage& image = *images_[file];
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
  images_.push_back(std::make_unique<DiskImage>());
  images_.back()->device = about.st_dev;
  images_.back()->inode = about.st_ino;
  images_.back()->birth = ++births_;
  images_.back()->losses.resize(nodes_);
  return images_.size() - 1;
}

VirtualDisk::Process VirtualDisk::start(std::uint32_t node, bool locks) {
  processes_.push_back(std::make_unique<DiskProcess>(*this, node, locks));
  return static_cast<Process>(processes_.size() - 1);
}

std::uint64_t VirtualDisk::used_bytes() {
  forget_nameless();
  std::uint64_t used = 0;
  for (const auto& image : images_) used += image->contents.size();
  return used;
}

// Adds a request of `held` bytes of data to the disk's work. Returns the time at which the disk has finished
// it.
std::uint64_t VirtualDisk::occupy(File file, std::uint64_t offset, std::uint64_t bytes, std::uint64_t held) {
  const bool follows = file == last_file_ && offset == last_end_;
  const std::uint64_t work =
      (follows ? 0 : options_.seek_ns) + duration_ns(held, options_.rate_bytes_per_second);
  free_ns_ = std::max(free_ns_, timeline_.now_ns()) + work * faults_.slowness();
  last_file_ = file;
  last_end_ = offset + bytes;
  return free_ns_;
}

void VirtualDisk::crash(Process process, bool host) {
  const std::uint32_t node = processes_[process]->node_;
  processes_[process]->kill();
  if (!host) return;
  ++boots_[node];
  for (const auto& one : processes_) {
    if (one->node_ == node && !one->dead_) one->kill();
  }
  for (const auto& image : images_) image->lose_cache(node, wall_ns(), timeline_);
}

}  // namespace millrace::io
