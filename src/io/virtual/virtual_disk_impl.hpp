// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// The parts of VirtualDisk, for its own files only.
#pragma once

#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "base/checksum.hpp"
#include "extent/extent.hpp"
#include "io/virtual/virtual_disk.hpp"

namespace millrace::io {

inline std::uint64_t total(const std::vector<iovec>& data, bool gaps) {
  std::uint64_t bytes = 0;
  for (const iovec& part : data) bytes += gaps || part.iov_base != nullptr ? part.iov_len : 0;
  return bytes;
}

inline std::uint64_t digest(const std::vector<iovec>& data) {
  std::uint64_t sum = 0;
  for (const iovec& part : data) {
    if (part.iov_base != nullptr) sum = checksum(part.iov_base, part.iov_len, sum);
  }
  return sum;
}

// Bytes in the cache that are not on the disk.
struct VirtualDisk::Dirty {
  const End* writer;
  std::uint32_t node;
  Extent extent;
  std::uint64_t until_ns;
  bool accepted = true;  // only the node's cache has it: the server may refuse it until a close
};

struct VirtualDisk::Image {
  bool created = false;  // create() made the file
  Fd kept;               // set while the file has a name, so that no other file gets its inode
  dev_t device = 0;
  ino_t inode = 0;
  std::uint64_t births = 1;  // the number of files so far with this name and inode number
  bool is(const struct stat& about) const { return device == about.st_dev && inode == about.st_ino; }
  void forget() {
    device = 0;
    inode = 0;
    kept.reset();
    contents.clear();
    stable.clear();
    dirty.clear();
  }
  std::vector<std::byte> contents;
  std::uint64_t changed_ns = 0;  // the time of the last write
  FileState state() const { return {contents.size(), changed_ns, changed_ns}; }
  std::vector<std::byte> stable;
  std::list<Dirty> dirty;             // in the order in which the disk takes it
  std::vector<std::uint32_t> losses;  // by node: how often bytes of its cache were lost
  struct Lock {
    const End* owner;
    Extent extent;
  };
  std::vector<Lock> locks;
};

struct VirtualDisk::Active {
  Request request;
  std::uint32_t node = 0;
  File file = 0;
  Handle handle = 0;
  bool direct = false;
  bool over = false;
  std::uint64_t bytes = 0;  // including gaps
  std::uint64_t held = 0;   // without gaps
  std::uint64_t moved = 0;
  std::uint64_t digest = 0;
  int error = 0;

  Extent extent() const { return {request.offset, request.offset + bytes}; }
};

inline constexpr std::uint64_t sector = 512;  // of the disk, bytes

class VirtualDisk::End final : public Storage {
 public:
  struct Adopted {
    Fd fd;  // kept open, so that no other file gets the inode
    File file = 0;
    bool direct = false;
    bool closed = false;     // for good
    std::uint32_t told = 0;  // the losses of the file that this handle has reported
  };

  End(VirtualDisk& disk, std::uint32_t node, bool locks) : disk_(disk), node_(node), locks_(locks) {}

  Result<Handle> adopt(Fd file, bool direct) override {
    const File number = disk_.file_of(file);
    adopted_.push_back({std::move(file), number, direct, false, disk_.images_[number]->losses[node_]});
    return static_cast<Handle>(adopted_.size() - 1);
  }
  void release(Handle file) override {
    const Fd fd = std::move(adopted_[file].fd);
    const File number = adopted_[file].file;
    if (!dead_ && !adopted_[file].closed) disk_.close(number, *this, disk_.close_error(number, *this));
    disk_.released(adopted_[file].file, fd);
  }
  Result<std::uint64_t> size(Handle file) override {
    return std::uint64_t{disk_.images_[adopted_[file].file]->contents.size()};
  }
  Result<FileIdentity> identify(const Fd& file, bool) override { return disk_.identify(file); }
  // The agent's page names files by the device that ranks see now.
  Result<FileIdentity> recognise(const Fd& file) override {
    FileIdentity identity = disk_.identify(file);
    identity.device = disk_.images_[disk_.file_of(file)]->device;
    return identity;
  }
  Result<FileState> state_of(const Fd& file) override { return disk_.state_of(file); }
  std::uint64_t wall_ns() const override { return disk_.wall_ns(); }
  void submit(Request request) override {
    auto active = std::make_shared<Active>();
    active->node = node_;
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
    const std::uint64_t when = disk_.start(*this, *active);
    if (active->request.op == Op::write) {
      check(*active);
      in_flight_ += active->held;
      most_in_flight_ = std::max(most_in_flight_, in_flight_);
    }
    active_.push_back(active);
    disk_.timeline_.at(when, [this, active] { disk_.complete(*this, active); });
  }
  // Counts overlapping writes in flight as misuse, because either may be the last to write the common bytes.
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
    if (active.request.op == Op::call) done_.back().status = active.request.act();
    if (active.request.op == Op::look) done_.back().state = disk_.images_[active.file]->state();
    done_.back().direct = active.direct;
  }

  std::function<void()> wake;

  VirtualDisk& disk_;
  std::uint32_t node_;
  const bool locks_;  // writes wait for locks of other processes
  std::vector<Adopted> adopted_;
  std::vector<std::shared_ptr<Active>> held_;
  std::vector<std::shared_ptr<Active>> active_;
  std::vector<Completion> done_;
  std::uint64_t in_flight_ = 0;
  std::uint64_t most_in_flight_ = 0;
  std::uint64_t asked_ = 0;
  bool dead_ = false;
};

}  // namespace millrace::io
