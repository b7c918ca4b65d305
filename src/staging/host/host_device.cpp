// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "staging/host/host_device.hpp"

#include <cerrno>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>

namespace millrace::staging {

Caps HostDevice::caps() const {
  return {.in_flight_max = options_.in_flight_max, .asynchronous = options_.asynchronous};
}

bool HostDevice::owns(Address address) const { return holds(address, 1); }

bool HostDevice::holds(Address address, std::size_t bytes) const {
  const auto at = static_cast<std::uint64_t>(address);
  const std::lock_guard lock(mutex_);
  const auto behind = blocks_.upper_bound(at);
  if (behind == blocks_.begin()) return false;
  const auto& [begin, block] = *std::prev(behind);
  return at - begin < block.bytes && bytes <= block.bytes - (at - begin);
}

Result<Address> HostDevice::allocate(std::size_t bytes) {
  if (bytes == 0) return Code::invalid;
  std::unique_ptr<std::byte[]> memory(new (std::nothrow) std::byte[bytes]);
  if (memory == nullptr) return Code::no_memory;
  const Address address = address_of(memory.get());
  const std::lock_guard lock(mutex_);
  blocks_.emplace(static_cast<std::uint64_t>(address), Block{std::move(memory), bytes});
  return address;
}

Status HostDevice::release(Address address) {
  const std::lock_guard lock(mutex_);
  return blocks_.erase(static_cast<std::uint64_t>(address)) == 1 ? Status() : Status(Code::invalid);
}

Status HostDevice::copy(CopyDirection direction, Address device, std::span<std::byte> host) const {
  if (!holds(device, host.size())) return {Code::invalid, EFAULT};
  // An address of this device is a pointer that allocate() made.
  auto* memory = reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(device));
  if (direction == CopyDirection::to_host) {
    std::memcpy(host.data(), memory, host.size());
  } else {
    std::memcpy(memory, host.data(), host.size());
  }
  return {};
}

Result<std::unique_ptr<Queue>> HostDevice::open_queue() {
  return open_copy_queue(options_, link_,
                         [this](CopyDirection direction, Address device, std::span<std::byte> host) {
                           return copy(direction, device, host);
                         });
}

}  // namespace millrace::staging
