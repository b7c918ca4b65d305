// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "base/fd.hpp"
#include "staging/copy_queue.hpp"
#include "staging/device.hpp"
#include "staging/pins.hpp"
#include "staging/process/helper.hpp"

namespace millrace::staging {

// A device whose memory is another process's, read and written by process_vm_readv and _writev. It stands in
// for a vector engine, whose memory belongs to a process too. It is for tests of correctness, not of speed.
// Thread safe.
class ProcessDevice final : public Device {
 public:
  // Starts a child that only holds memory.
  static Result<std::unique_ptr<ProcessDevice>> start(const CopyOptions& options = {});
  // Uses the memory of a process that this one may trace. allocate() fails.
  static Result<std::unique_ptr<ProcessDevice>> attach(pid_t pid, const CopyOptions& options = {});

  const char* name() const override { return "process"; }
  Caps caps() const override;
  // True for every address of an attached process.
  bool owns(Address address) const override;
  Result<Address> allocate(std::size_t bytes) override;
  Status release(Address address) override;
  Status pin(std::span<std::byte> host) override { return pins_.pin(host); }
  Status unpin(std::span<std::byte> host) override { return pins_.unpin(host); }
  Result<std::unique_ptr<Queue>> open_queue() override;
  std::string explain() const override;

  pid_t pid() const { return pid_; }

 private:
  explicit ProcessDevice(const CopyOptions& options) : options_(options), link_(options.delays) {}
  Status hold(pid_t pid);
  bool gone() const;
  Status copy(CopyDirection direction, Address device, std::span<std::byte> host) const;

  const CopyOptions options_;
  SimulatedLink link_;
  PageLocks pins_;
  pid_t pid_ = -1;
  Fd process_;  // a pidfd; readable after the process has ended, even if another process gets its number
  std::unique_ptr<Helper> helper_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::size_t> blocks_;  // guarded by mutex_
};

}  // namespace millrace::staging
