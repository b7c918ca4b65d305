// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <mutex>

#include "staging/copy_queue.hpp"
#include "staging/device.hpp"
#include "staging/pins.hpp"

namespace millrace::staging {

// A device whose memory is in this process, for tests and to measure the cost of staging itself. With delays,
// it simulates a link of a given rate and latency. Pinning locks the pages. Thread safe.
class HostDevice final : public Device {
 public:
  explicit HostDevice(const CopyOptions& options = {}) : options_(options), link_(options.delays) {}

  const char* name() const override { return "host"; }
  Caps caps() const override;
  bool owns(Address address) const override;
  Result<Address> allocate(std::size_t bytes) override;
  Status release(Address address) override;
  Status pin(std::span<std::byte> host) override { return pins_.pin(host); }
  Status unpin(std::span<std::byte> host) override { return pins_.unpin(host); }
  Result<std::unique_ptr<Queue>> open_queue() override;

 private:
  struct Block {
    std::unique_ptr<std::byte[]> memory;
    std::size_t bytes;
  };
  Status copy(CopyDirection direction, Address device, std::span<std::byte> host) const;
  bool holds(Address address, std::size_t bytes) const;

  const CopyOptions options_;
  SimulatedLink link_;
  PageLocks pins_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, Block> blocks_;  // guarded by mutex_
};

}  // namespace millrace::staging
