// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// The faults of VirtualDisk.
#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>
#include <vector>

#include "io/virtual/virtual_disk_impl.hpp"

namespace millrace::io {

namespace {
constexpr std::uint64_t times_stay_ns = 5'000'000'000;  // in the cache
}  // namespace

void VirtualDisk::fail(Op op, std::uint64_t skip, int error) { planned_.push_back({op, skip, error}); }

int VirtualDisk::planned_error(Op op) {
  int error = 0;
  for (Planned& one : planned_) {
    if (one.op != op || one.error == 0) continue;
    if (one.skip-- == 0) error = std::exchange(one.error, 0);
  }
  return error;
}

void VirtualDisk::repair() {
  planned_.clear();
  slowness_ = 1;
  stalled_until_ns_ = 0;
  options_.capacity_bytes = capacity_bytes_;
}

void VirtualDisk::kill(End& end) {
  end.dead_ = true;
  end.wake = nullptr;
  const auto active = std::exchange(end.active_, {});
  for (const auto& one : active) {
    one->error = EIO;
    const bool writes = one->request.op == Op::write;
    if (writes && !(end.locks_ && locked_for(end, *images_[one->file], one->extent()))) write(end, *one);
    one->over = true;
    end.done_.push_back({one->request.token, Status::from_errno(EIO), 0});
  }
  unlock(end);
}

void VirtualDisk::crash(Process process, bool host) {
  const std::uint32_t node = ends_[process]->node_;
  kill(*ends_[process]);
  if (!host) return;
  ++boots_[node];
  for (const auto& end : ends_) {
    if (end->node_ == node && !end->dead_) kill(*end);
  }
  for (const auto& image : images_) {
    for (auto one = image->dirty.begin(); one != image->dirty.end(); ++one) {
      if (one->node == node) roll_back(*image, one);
    }
    // A datasync does not bring the time of the last write to the disk.
    const bool lately = image->changed_ns + times_stay_ns > wall_ns();
    if (lately && timeline_.chance(2)) image->changed_ns -= 1;
    std::erase_if(image->dirty, [node](const Dirty& one) { return one.node == node; });
  }
}

// --- Closes ---

// Only a close after writes may fail, and only of the first file: copies and journals are of this machine.
int VirtualDisk::close_error(File file, const End& end) {
  const auto loses = [&end](const Dirty& one) { return one.accepted && one.writer == &end; };
  return file == 0 && std::ranges::any_of(images_[file]->dirty, loses) ? planned_error(Op::close) : 0;
}

int VirtualDisk::close(Process process, Handle file) {
  const End& end = *ends_[process];
  const File number = end.adopted_[file].file;
  const int error = close_error(number, end);
  close(number, end, error);
  return error;
}

// A close(2) brings the bytes of the process that the cache has accepted to the server, which may refuse
// them. The server's disk gets them later.
void VirtualDisk::close(File file, const End& end, int error) {
  Image& image = *images_[file];
  for (auto one = image.dirty.begin(); one != image.dirty.end(); ++one) {
    if (!one->accepted || one->writer != &end) continue;
    if (error != 0) roll_back(image, one);
    one->accepted = false;
  }
  refused_ |= error != 0;
  if (error != 0) ++image.losses[end.node_];  // datasyncs of all handles tell it
}

// Sets some sectors of a lost write back to the disk's contents, by chance. Bytes that another node has
// written since do not change.
void VirtualDisk::roll_back(Image& image, std::list<Dirty>::const_iterator lost) {
  std::vector<Extent> since;
  for (auto later = std::next(lost); later != image.dirty.cend(); ++later) {
    if (later->node != lost->node && later->extent.intersects(lost->extent)) since.push_back(later->extent);
  }
  const auto is_newer = [&since](std::uint64_t byte) {
    return std::ranges::any_of(since, [byte](Extent one) { return one.begin <= byte && byte < one.end; });
  };
  const Extent extent = lost->extent;
  for (std::uint64_t at = extent.begin; at < extent.end; at = (at / sector + 1) * sector) {
    if (timeline_.chance(2)) continue;
    const std::uint64_t until = std::min((at / sector + 1) * sector, extent.end);
    for (std::uint64_t byte = at; byte < until; ++byte) {
      if (!is_newer(byte))
        image.contents[byte] = byte < image.stable.size() ? image.stable[byte] : std::byte{0};
    }
  }
}

}  // namespace millrace::io
