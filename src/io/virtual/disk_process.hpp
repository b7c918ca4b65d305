// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "extent/extent.hpp"
#include "io/storage.hpp"
#include "io/virtual/disk_image.hpp"

namespace millrace::io {

class VirtualDisk;

// A process of a node, as a VirtualDisk sees it: the files that it has open, its requests in flight, and its
// locks. Owned by the disk. Not thread safe.
class DiskProcess final : public Storage {
 public:
  // `locks`: its writes wait for locks of other processes (io/posix/extent_lock.hpp).
  DiskProcess(VirtualDisk& disk, std::uint32_t node, bool locks) : disk_(disk), node_(node), locks_(locks) {}

  Result<Handle> adopt(Fd file, bool direct) override;
  void release(Handle file) override;
  Result<std::uint64_t> size(Handle file) override;
  Result<FileIdentity> identify(const Fd& file, bool for_good) override;
  Result<FileIdentity> recognise(const Fd& file) override;
  Result<FileState> state_of(const Fd& file) override;
  std::uint64_t wall_ns() const override;
  void submit(Request request) override;
  void kick() override;
  void poll(std::vector<Completion>& out) override;
  int event_fd() const override { return -1; }

  // Sets a function that is called when poll() has a new completion.
  void on_change(std::function<void()> wake) { wake_ = std::move(wake); }
  // close(2) of a file by a program, at once. Returns its errno.
  int close(Handle file);
  // Locks a part of the file, until unlock() or the end of the process. False: another process holds a lock
  // there.
  bool lock(Handle file, Extent extent);
  void unlock();

  std::uint64_t most_in_flight() const { return most_in_flight_; }  // bytes of writes
  std::uint64_t bytes_asked() const { return asked_; }              // of all writes and reads so far

 private:
  friend class VirtualDisk;

  struct Adopted {
    Fd fd;  // kept open, so that no other file gets the inode
    std::size_t file = 0;
    bool direct = false;
    bool closed = false;     // for good
    std::uint32_t told = 0;  // the losses of the file that this handle has reported
  };
  struct Active {
    Request request;
    std::size_t file = 0;
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

  DiskImage& image_of(const Active& active) const;
  bool has_open(std::size_t file) const;
  void kill();
  void begin(const std::shared_ptr<Active>& active);
  void check(const Active& active);
  std::uint64_t ends_ns(Active& active);
  void complete(const std::shared_ptr<Active>& active);
  void write(Active& active);
  void read(Active& active);
  void settle(const Active& active, std::uint64_t most);
  void end(const Active& active);
  int close_error(std::size_t file);
  void close(std::size_t file, int error);

  VirtualDisk& disk_;
  const std::uint32_t node_;
  const bool locks_;
  std::function<void()> wake_;
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
