// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/virtual/memory_storage.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/checksum.hpp"
#include "extent/extent.hpp"

namespace millrace::io {

namespace {

bool is_gap(const iovec& part) { return part.iov_base == nullptr; }

// The number of bytes of the file from the first to the last, including gaps.
std::uint64_t total(const std::vector<iovec>& data) {
  std::uint64_t bytes = 0;
  for (const iovec& part : data) bytes += part.iov_len;
  return bytes;
}

std::uint64_t digest(const std::vector<iovec>& data) {
  std::uint64_t sum = 0;
  for (const iovec& part : data) {
    if (!is_gap(part)) sum = checksum(part.iov_base, part.iov_len, sum);
  }
  return sum;
}

// Calls f(position in the request, memory, bytes) for the parts in [begin, end) of the request's bytes.
template <class F>
void for_range(const std::vector<iovec>& data, std::uint64_t begin, std::uint64_t end, F f) {
  std::uint64_t at = 0;
  for (const iovec& part : data) {
    const Extent both = intersection({at, at + part.iov_len}, {begin, end});
    if (!both.empty() && !is_gap(part))
      f(both.begin, static_cast<std::byte*>(part.iov_base) + (both.begin - at), both.size());
    at += part.iov_len;
  }
}

bool fails(const Fault& fault, Op op, std::uint64_t number) {
  if (fault.op != op || number < fault.first) return false;
  return number == fault.first || (fault.every != 0 && (number - fault.first) % fault.every == 0);
}

Extent blocks(Extent bytes) {
  constexpr std::uint64_t mask = direct_alignment - 1;
  return {bytes.begin & ~mask, (bytes.end + mask) & ~mask};
}

}  // namespace

// The contents of some bytes when a datasync was submitted.
struct MemoryStorage::Saved {
  std::uint64_t offset;
  std::vector<std::byte> bytes;
};

struct MemoryStorage::Snapshot {
  std::uint64_t sequence;
  std::vector<Saved> saved;
};

struct MemoryStorage::Image {
  dev_t device = 0;
  ino_t inode = 0;
  bool anonymous = true;
  std::vector<std::byte> contents;
  std::vector<std::byte> stable;
  std::vector<Extent> dirty;     // of writes that completed since the last datasync was submitted
  std::deque<Snapshot> syncing;  // in the order of their sequence numbers
  std::uint64_t next_sequence = 1;
  std::uint64_t changes = 1;  // the file's time: the number of writes so far
  FileState state() const { return {contents.size(), changes, changes}; }
  void resize(std::uint64_t bytes) {
    contents.resize(bytes);
    for (Extent& extent : dirty) extent = intersection(extent, {0, bytes});
  }
};

struct MemoryStorage::Adopted {
  Fd fd;  // kept open, so that no other file gets the inode
  File file;
  bool direct;
};

struct MemoryStorage::Active {
  Request request;
  File file = 0;
  bool direct = false;
  bool bad = false;         // the handle does not exist
  std::uint64_t bytes = 0;  // of data, without gaps
  std::uint64_t moved = 0;
  std::uint64_t digest = 0;
  std::uint64_t sequence = 0;  // of the datasync
  std::uint32_t delay = 0;
  int error = 0;                 // a planned or a real error
  std::uint64_t fail_after = 0;  // bytes that a failing write moves first

  Extent extent() const { return {request.offset, request.offset + bytes}; }
};

MemoryStorage::MemoryStorage(MemoryOptions options) : options_(std::move(options)), random_(options_.seed) {}
MemoryStorage::~MemoryStorage() = default;

std::uint64_t MemoryStorage::below(std::uint64_t bound) { return bound == 0 ? 0 : random_() % bound; }

Fd MemoryStorage::create() {
  Fd fd(memfd_create("memory_storage", MFD_CLOEXEC));
  struct stat about = {};
  if (!fd.valid() || fstat(fd.get(), &about) != 0) return Fd();
  auto image = std::make_unique<Image>();
  image->device = about.st_dev;
  image->inode = about.st_ino;
  image->anonymous = false;
  images_.push_back(std::move(image));
  return fd;
}

Result<Handle> MemoryStorage::adopt(Fd file, bool direct) {
  struct stat about = {};
  const bool anonymous = !file.valid();
  if (!anonymous && fstat(file.get(), &about) != 0) return Status::from_errno(errno);
  File number = 0;
  while (number < images_.size() &&
         (anonymous || images_[number]->anonymous || images_[number]->device != about.st_dev ||
          images_[number]->inode != about.st_ino)) {
    number += 1;
  }
  if (number == images_.size()) {
    auto image = std::make_unique<Image>();
    image->device = about.st_dev;
    image->inode = about.st_ino;
    image->anonymous = anonymous;
    images_.push_back(std::move(image));
  }
  adopted_.push_back(std::make_unique<Adopted>(Adopted{std::move(file), number, direct}));
  return static_cast<Handle>(adopted_.size() - 1);
}

void MemoryStorage::release(Handle file) {
  if (file >= adopted_.size() || !adopted_[file]) {
    misuse_.bad_handles += 1;
    return;
  }
  const auto on_it = [&](const auto& active) { return active->request.file == file; };
  if (std::any_of(active_.begin(), active_.end(), on_it) || std::any_of(held_.begin(), held_.end(), on_it)) {
    misuse_.released_in_flight += 1;
  }
  adopted_[file].reset();
}

Result<std::uint64_t> MemoryStorage::size(Handle file) {
  if (file >= adopted_.size() || !adopted_[file]) return Status::from_errno(EBADF);
  return std::uint64_t{images_[adopted_[file]->file]->contents.size()};
}

Result<FileState> MemoryStorage::state_of(const Fd& file) {
  struct stat about = {};
  if (fstat(file.get(), &about) != 0) return Status::from_errno(errno);
  for (const auto& image : images_) {
    if (!image->anonymous && image->device == about.st_dev && image->inode == about.st_ino)
      return image->state();
  }
  return io::state_of(file);
}

std::size_t MemoryStorage::handles() const {
  return static_cast<std::size_t>(
      std::count_if(adopted_.begin(), adopted_.end(), [](const auto& one) { return one != nullptr; }));
}

MemoryStorage::Image& MemoryStorage::image_of(const Active& active) { return *images_[active.file]; }

void MemoryStorage::check_misuse(Active& active) {
  const auto aligned = [](std::uint64_t value) { return value % direct_alignment == 0; };
  if (active.direct && (active.request.op == Op::write || active.request.op == Op::read)) {
    bool good = aligned(active.request.offset);
    for (const iovec& part : active.request.data) {
      good = good && !is_gap(part) && aligned(part.iov_len) &&
             aligned(reinterpret_cast<std::uintptr_t>(part.iov_base));
    }
    if (!good) {
      misuse_.misaligned_direct += 1;
      active.error = EINVAL;
    }
  }
  if (active.request.op != Op::write) return;
  for (const auto* list : {&active_, &held_}) {
    for (const auto& other : *list) {
      if (other->request.op != Op::write || other->bad || other->file != active.file) continue;
      if (other->extent().intersects(active.extent())) {
        misuse_.overlapping_writes += 1;
      } else if (other->direct != active.direct &&
                 blocks(other->extent()).intersects(blocks(active.extent()))) {
        misuse_.mixed_blocks += 1;
      }
    }
  }
}

void MemoryStorage::submit(Request request) {
  auto active = std::make_unique<Active>();
  active->request = std::move(request);
  const Request& asked = active->request;
  const std::uint64_t number = ++submitted_[static_cast<std::size_t>(asked.op)];
  active->delay = static_cast<std::uint32_t>(below(std::uint64_t{options_.max_delay_polls} + 1));
  active->bytes = total(asked.data);
  if (asked.op == Op::call) return held_.push_back(std::move(active));
  if (asked.file >= adopted_.size() || !adopted_[asked.file]) {
    misuse_.bad_handles += 1;
    active->bad = true;
    active->error = EBADF;
    held_.push_back(std::move(active));
    return;
  }
  active->file = adopted_[asked.file]->file;
  active->direct = adopted_[asked.file]->direct;
  check_misuse(*active);
  for (const Fault& fault : options_.faults) {
    if (active->error == 0 && fails(fault, asked.op, number)) {
      active->error = fault.error;
      active->fail_after = options_.short_writes ? below(active->bytes) : 0;
    }
  }
  if (asked.op == Op::write) active->digest = digest(asked.data);
  if (asked.op == Op::datasync) {
    Image& image = image_of(*active);
    Snapshot snapshot{image.next_sequence++, {}};
    for (const Extent dirty : image.dirty) {
      const auto begin = image.contents.begin() + static_cast<std::ptrdiff_t>(dirty.begin);
      snapshot.saved.push_back({dirty.begin, {begin, begin + static_cast<std::ptrdiff_t>(dirty.size())}});
    }
    image.dirty.clear();
    active->sequence = snapshot.sequence;
    image.syncing.push_back(std::move(snapshot));
  }
  if (options_.keep_history) {
    const std::uint64_t length = asked.op == Op::writeback ? asked.length : active->bytes;
    history_.push_back({asked.op, active->file, active->direct, asked.offset, length, asked.data.size()});
  }
  held_.push_back(std::move(active));
}

void MemoryStorage::kick() {
  for (auto& held : held_) active_.push_back(std::move(held));
  held_.clear();
}

std::uint64_t MemoryStorage::used_bytes() const {
  std::uint64_t used = 0;
  for (const auto& image : images_) used += image->contents.size();
  return used;
}

// Does one poll's work on a write: a part of it, or all of the rest. True if the write has ended.
bool MemoryStorage::step_write(Active& active) {
  Image& image = image_of(active);
  if (digest(active.request.data) != active.digest) misuse_.changed_memory += 1;
  const std::uint64_t goal = active.error != 0 ? active.fail_after : active.bytes;
  std::uint64_t until = goal;
  if (options_.short_writes && goal - active.moved > 1 && below(2) == 0) {
    until = active.moved + 1 + below(goal - active.moved);
  }
  const std::uint64_t room_end = [&] {
    const std::uint64_t used = used_bytes();
    const std::uint64_t room = used < options_.capacity_bytes ? options_.capacity_bytes - used : 0;
    return room > UINT64_MAX - image.contents.size() ? UINT64_MAX : image.contents.size() + room;
  }();
  if (active.request.offset + until > room_end) {
    until = std::max(active.moved, room_end > active.request.offset ? room_end - active.request.offset : 0);
    if (active.error == 0) active.error = ENOSPC;
    active.fail_after = until;
  }
  if (until > active.moved && image.contents.size() < active.request.offset + until) {
    image.contents.resize(active.request.offset + until);
  }
  for_range(active.request.data, active.moved, until,
            [&](std::uint64_t at, std::byte* from, std::uint64_t n) {
              std::memcpy(image.contents.data() + active.request.offset + at, from, n);
            });
  if (until > active.moved) ++image.changes;
  active.moved = until;
  if (active.moved < (active.error != 0 ? active.fail_after : active.bytes)) return false;
  for_range(active.request.data, 0, active.moved, [&](std::uint64_t at, std::byte*, std::uint64_t n) {
    image.dirty.push_back({active.request.offset + at, active.request.offset + at + n});
  });
  return true;
}

void MemoryStorage::step_read(Active& active) {
  if (active.error != 0) return;
  const Image& image = image_of(active);
  const std::uint64_t size = image.contents.size();
  const std::uint64_t there = active.request.offset < size ? size - active.request.offset : 0;
  active.moved = std::min(active.bytes, there);
  for_range(active.request.data, 0, active.moved, [&](std::uint64_t at, std::byte* to, std::uint64_t n) {
    std::memcpy(to, image.contents.data() + active.request.offset + at, n);
  });
}

// Success makes this snapshot and all older ones stable. Failure loses them.
void MemoryStorage::finish_sync(Active& active) {
  Image& image = image_of(active);
  while (!image.syncing.empty() && image.syncing.front().sequence <= active.sequence) {
    if (active.error == 0) {
      for (const Saved& saved : image.syncing.front().saved) {
        const std::uint64_t end = saved.offset + saved.bytes.size();
        if (image.stable.size() < end) image.stable.resize(end);
        std::copy(saved.bytes.begin(), saved.bytes.end(),
                  image.stable.begin() + static_cast<std::ptrdiff_t>(saved.offset));
      }
    }
    image.syncing.pop_front();
  }
}

bool MemoryStorage::step(Active& active) {
  if (active.bad) return true;
  if (active.delay > 0) {
    active.delay -= 1;
    return false;
  }
  switch (active.request.op) {
    case Op::write:
      return step_write(active);
    case Op::read:
      step_read(active);
      break;
    case Op::datasync:
      finish_sync(active);
      break;
    case Op::writeback:
      active.error = 0;  // a hint never fails
      break;
    case Op::resize:  // a file may have holes
      if (active.error == 0 && active.request.length / 64 > options_.capacity_bytes) active.error = EFBIG;
      if (active.error == 0) image_of(active).resize(active.request.length);
      break;
    case Op::look:
    case Op::close:
    case Op::call:
      break;
  }
  return true;
}

void MemoryStorage::poll(std::vector<Completion>& out) {
  const std::size_t first = out.size();
  for (auto& active : active_) {
    if (!step(*active)) continue;
    std::uint64_t bytes = 0;
    for_range(active->request.data, 0, active->moved,
              [&](std::uint64_t, std::byte*, std::uint64_t n) { bytes += n; });
    out.push_back({active->request.token, Status::from_errno(active->error), bytes});
    if (active->request.op == Op::call) out.back().status = active->request.act();
    if (active->request.op == Op::look && !active->bad) out.back().state = image_of(*active).state();
    out.back().direct = active->direct;
    active.reset();
  }
  std::erase(active_, nullptr);
  if (!options_.shuffle) return;
  for (std::size_t left = out.size() - first; left > 1; --left) {
    std::swap(out[first + left - 1], out[first + below(left)]);
  }
}

std::span<const std::byte> MemoryStorage::contents(File file) const { return images_.at(file)->contents; }
std::span<const std::byte> MemoryStorage::stable(File file) const { return images_.at(file)->stable; }

void MemoryStorage::assign(File file, std::span<const std::byte> bytes) {
  Image& image = *images_.at(file);
  image.contents.assign(bytes.begin(), bytes.end());
  image.stable = image.contents;
  image.dirty.clear();
  image.syncing.clear();
}

}  // namespace millrace::io
