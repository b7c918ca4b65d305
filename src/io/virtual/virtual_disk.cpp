// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/virtual/virtual_disk.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <list>
#include <utility>

#include "extent/extent.hpp"
#include "io/virtual/parts.hpp"

namespace millrace::io {

namespace {

constexpr std::uint64_t sector = 512;

}  // namespace

// In the cache, and not on the disk.
struct VirtualDisk::Dirty {
  std::uint32_t node;
  Extent extent;
  std::uint64_t until_ns;
};

struct VirtualDisk::Image {
  bool created = false;  // by create()
  dev_t device = 0;
  ino_t inode = 0;
  bool is(const struct stat& about) const { return device == about.st_dev && inode == about.st_ino; }
  std::vector<std::byte> contents;
  std::vector<std::byte> stable;
  std::list<Dirty> dirty;             // as the disk takes it
  std::vector<std::uint32_t> losses;  // by node: how often bytes of its cache did not come to the disk
};

struct VirtualDisk::Active {
  End* end = nullptr;  // whose it is
  Request request;
  std::uint32_t node = 0;
  File file = 0;
  Handle handle = 0;
  bool direct = false;
  bool over = false;
  std::uint64_t bytes = 0;  // gaps included
  std::uint64_t held = 0;   // of memory
  std::uint64_t moved = 0;
  std::uint64_t digest = 0;
  int error = 0;

  Extent extent() const { return {request.offset, request.offset + bytes}; }
};

class VirtualDisk::End final : public Storage {
 public:
  struct Adopted {
    Fd fd;  // kept open, so that the inode cannot be given to another file
    File file = 0;
    bool direct = false;
    std::uint32_t told = 0;  // of so many losses
  };

  End(VirtualDisk& disk, std::uint32_t node) : disk_(disk), node_(node) {}

  Result<Handle> adopt(Fd file, bool direct) override {
    const File number = disk_.file_of(file);
    adopted_.push_back({std::move(file), number, direct, disk_.images_[number]->losses[node_]});
    return static_cast<Handle>(adopted_.size() - 1);
  }
  void release(Handle file) override {
    adopted_[file].fd.reset();
    disk_.released(adopted_[file].file);
  }
  Result<std::uint64_t> size(Handle file) override {
    return std::uint64_t{disk_.images_[adopted_[file].file]->contents.size()};
  }
  Status resize(Handle file, std::uint64_t bytes) override {
    disk_.images_[adopted_[file].file]->contents.resize(bytes);
    return {};
  }
  void submit(Request request) override {
    auto active = std::make_shared<Active>();
    active->end = this;
    active->node = node_;
    active->handle = request.file;
    active->file = adopted_[request.file].file;
    active->direct = adopted_[request.file].direct;
    active->bytes = total(request.data, true);
    active->held = total(request.data, false);
    asked_ += active->held;
    active->request = std::move(request);
    held_.push_back(std::move(active));
  }
  void kick() override {
    for (const auto& active : held_) begin(active);
    held_.clear();
  }
  void poll(std::vector<Completion>& out) override {
    out.insert(out.end(), done_.begin(), done_.end());
    done_.clear();
  }
  int event_fd() const override { return -1; }

  void begin(const std::shared_ptr<Active>& active) {
    if (dead_) {
      done_.push_back({active->request.token, Status::from_errno(EIO), 0});
      return;
    }
    const std::uint64_t when = disk_.start(*active);
    if (active->request.op == Op::write) {
      check(*active);
      in_flight_ += active->held;
      most_in_flight_ = std::max(most_in_flight_, in_flight_);
    }
    active_.push_back(active);
    disk_.timeline_.at(when, [&disk = disk_, active] { disk.complete(active); });
  }
  // Of two writes in flight with a byte in common, either may be the last.
  void check(const Active& active) {
    for (const auto& other : active_) {
      if (other->request.op == Op::write && other->file == active.file &&
          other->extent().intersects(active.extent()))
        ++disk_.misuses_;
    }
  }
  void end(const Active& active) {
    if (active.request.op == Op::write) in_flight_ -= active.held;
    std::erase_if(active_, [&active](const auto& one) { return one.get() == &active; });
    done_.push_back({active.request.token, Status::from_errno(active.error), active.moved});
  }

  std::function<void()> wake;

  VirtualDisk& disk_;
  std::uint32_t node_;
  std::vector<Adopted> adopted_;
  std::vector<std::shared_ptr<Active>> held_;
  std::vector<std::shared_ptr<Active>> active_;
  std::vector<Completion> done_;
  std::uint64_t in_flight_ = 0;
  std::uint64_t most_in_flight_ = 0;
  std::uint64_t asked_ = 0;
  bool dead_ = false;
};

VirtualDisk::VirtualDisk(Timeline& timeline, Trace& trace, std::uint32_t nodes, const DiskOptions& options)
    : timeline_(timeline), trace_(trace), options_(options) {
  for (std::uint32_t node = 0; node < nodes; ++node) ends_.push_back(std::make_unique<End>(*this, node));
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

// The system may give the inode to another file now.
void VirtualDisk::released(File file) {
  const auto has = [file](const End::Adopted& one) { return one.file == file && one.fd.valid(); };
  const auto any = [&has](const auto& end) { return std::ranges::any_of(end->adopted_, has); };
  if (std::ranges::any_of(ends_, any) || std::ranges::any_of(joined_, any)) return;
  Image& image = *images_[file];
  if (image.created) return;
  image.device = 0;
  image.inode = 0;
  image.contents.clear();
  image.stable.clear();
  image.dirty.clear();
}

VirtualDisk::File VirtualDisk::file_of(const Fd& fd) {
  struct stat about = {};
  (void)fstat(fd.get(), &about);
  const auto same = std::ranges::find_if(images_, [&about](const auto& image) { return image->is(about); });
  if (same != images_.end()) return static_cast<File>(same - images_.begin());
  images_.push_back(std::make_unique<Image>());
  images_.back()->device = about.st_dev;
  images_.back()->inode = about.st_ino;
  images_.back()->losses.resize(ends_.size());
  return images_.size() - 1;
}

Storage& VirtualDisk::of(std::uint32_t node) { return *ends_[node]; }
Storage& VirtualDisk::join(std::uint32_t node, std::function<void()> wake) {
  joined_.push_back(std::make_unique<End>(*this, node));
  joined_.back()->wake = std::move(wake);
  return *joined_.back();
}
void VirtualDisk::on_change(std::uint32_t node, std::function<void()> wake) {
  ends_[node]->wake = std::move(wake);
}

std::span<const std::byte> VirtualDisk::contents(File file) const { return images_.at(file)->contents; }
std::span<const std::byte> VirtualDisk::stable(File file) const { return images_.at(file)->stable; }
std::uint64_t VirtualDisk::most_in_flight(std::uint32_t node) const { return ends_[node]->most_in_flight_; }
std::uint64_t VirtualDisk::bytes_asked(std::uint32_t node) const { return ends_[node]->asked_; }

std::uint64_t VirtualDisk::used_bytes() const {
  std::uint64_t used = 0;
  for (const auto& image : images_) used += image->contents.size();
  return used;
}

// --- Time ---

// When the disk will have done this too: `held` bytes of data, with gaps between them.
std::uint64_t VirtualDisk::occupy(File file, std::uint64_t offset, std::uint64_t bytes, std::uint64_t held) {
  const bool follows = file == last_file_ && offset == last_end_;
  const std::uint64_t work =
      (follows ? 0 : options_.seek_ns) + duration_ns(held, options_.rate_bytes_per_second);
  free_ns_ = std::max(free_ns_, timeline_.now_ns()) + work * slowness_;
  last_file_ = file;
  last_end_ = offset + bytes;
  return free_ns_;
}

// When the request will be complete.
std::uint64_t VirtualDisk::start(Active& active) {
  const Request& request = active.request;
  active.error = planned_error(request.op);
  trace_.note(timeline_.now_ns(), active.node, "asks the disk: op offset bytes",
              static_cast<std::uint64_t>(request.op), request.offset, active.bytes);
  const std::uint64_t soon = timeline_.now_ns() + options_.call_ns + timeline_.below(options_.jitter_ns + 1);
  const std::uint64_t copied = soon + duration_ns(active.held, options_.copy_bytes_per_second);
  switch (request.op) {
    case Op::write: {
      active.digest = digest(request.data);
      if (active.direct)
        return std::max(copied, occupy(active.file, request.offset, active.bytes, active.held));
      // What is more than the cache holds waits until the disk has taken so much.
      const std::uint64_t cached_ns = duration_ns(options_.cache_bytes, options_.rate_bytes_per_second);
      return std::max(copied, free_ns_ > cached_ns ? free_ns_ - cached_ns : 0);
    }
    case Op::read:
      return copied;
    case Op::writeback:
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

void VirtualDisk::complete(const std::shared_ptr<Active>& active) {
  if (active->over) return;
  active->over = true;
  End& end = *active->end;
  const Request& request = active->request;
  Image& image = *images_[active->file];
  if (request.op == Op::write) write(*active);
  if (request.op == Op::read && active->error == 0) {
    const std::uint64_t size = image.contents.size();
    const std::uint64_t there = request.offset < size ? size - request.offset : 0;
    active->moved = std::min(active->bytes, there);
    each_part(request, active->moved, [&image](std::uint64_t at, std::byte* to, std::uint64_t bytes) {
      std::memcpy(to, image.contents.data() + at, bytes);
    });
  }
  if (request.op == Op::datasync) synced(*active);
  if (request.op == Op::writeback) active->error = 0;
  trace_.note(timeline_.now_ns(), active->node, "disk answers: op offset errno",
              static_cast<std::uint64_t>(request.op), request.offset,
              static_cast<std::uint64_t>(active->error));
  end.end(*active);
  if (end.wake) end.wake();
}

// What a failing datasync was to bring to the disk never comes there.
void VirtualDisk::lose(const Active& active) {
  Image& image = *images_[active.file];
  std::erase_if(image.dirty, [&active](const Dirty& one) { return one.node == active.node; });
  ++image.losses[active.node];
}

// Every handle of a node is told once of such a loss.
void VirtualDisk::synced(Active& active) {
  const std::uint32_t losses = images_[active.file]->losses[active.node];
  if (std::exchange(active.end->adopted_[active.handle].told, losses) != losses) active.error = EIO;
}

// Into the cache; the disk follows.
void VirtualDisk::write(Active& active) {
  Image& image = *images_[active.file];
  const Request& request = active.request;
  if (digest(request.data) != active.digest) ++misuses_;
  std::uint64_t most = active.error != 0 ? timeline_.below(active.bytes) : active.bytes;
  const std::uint64_t used = used_bytes();
  const std::uint64_t room = options_.capacity_bytes > used ? options_.capacity_bytes - used : 0;
  const std::uint64_t size = image.contents.size();
  if (request.offset + most > size && request.offset + most - size > room) {
    active.error = ENOSPC;
    most = size + room > request.offset ? std::min(most, size + room - request.offset) : 0;
  }
  if (most > 0 && request.offset + most > size) image.contents.resize(request.offset + most);
  each_part(request, most, [&](std::uint64_t at, const std::byte* from, std::uint64_t bytes) {
    std::memcpy(image.contents.data() + at, from, bytes);
    active.moved += bytes;
  });
  if (most > 0) settle(active, most);
}

// The first `most` bytes of a write are in the cache.
void VirtualDisk::settle(const Active& active, std::uint64_t most) {
  Image& image = *images_[active.file];
  const std::uint64_t until =
      active.direct ? timeline_.now_ns() : occupy(active.file, active.request.offset, most, active.moved);
  each_part(active.request, most, [&](std::uint64_t at, const std::byte*, std::uint64_t bytes) {
    image.dirty.push_back({active.node, {at, at + bytes}, until});
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

// --- Faults ---

void VirtualDisk::fail(Op op, std::uint64_t skip, int error) { planned_.push_back({op, skip, error}); }

int VirtualDisk::planned_error(Op op) {
  int error = 0;
  for (Planned& one : planned_) {
    if (one.op != op || one.error == 0) continue;
    if (one.skip-- == 0) error = std::exchange(one.error, 0);
  }
  return error;
}

void VirtualDisk::end(End& process) {
  process.dead_ = true;
  process.wake = nullptr;
  const auto active = std::exchange(process.active_, {});
  for (const auto& one : active) {
    one->error = EIO;
    if (one->request.op == Op::write) write(*one);
    one->over = true;
    process.done_.push_back({one->request.token, Status::from_errno(EIO), 0});
  }
}

void VirtualDisk::crash(std::uint32_t node, bool host) {
  end(*ends_[node]);
  if (!host) return;
  for (const auto& process : joined_) {
    if (process->node_ == node) end(*process);
  }
  for (const auto& image : images_) {
    for (const Dirty& one : image->dirty) {
      if (one.node != node) continue;
      for (std::uint64_t at = one.extent.begin; at < one.extent.end; at = (at / sector + 1) * sector) {
        if (timeline_.chance(2)) continue;
        const std::uint64_t until = std::min((at / sector + 1) * sector, one.extent.end);
        for (std::uint64_t byte = at; byte < until; ++byte)
          image->contents[byte] = byte < image->stable.size() ? image->stable[byte] : std::byte{0};
      }
    }
    std::erase_if(image->dirty, [node](const Dirty& one) { return one.node == node; });
  }
}

}  // namespace millrace::io
