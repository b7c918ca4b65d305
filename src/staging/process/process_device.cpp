// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "staging/process/process_device.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>
#include <utility>

namespace millrace::staging {

Status ProcessDevice::hold(pid_t pid) {
  pid_ = pid;
  process_.reset(static_cast<int>(syscall(SYS_pidfd_open, pid, 0U)));
  return process_.valid() ? Status() : Status::from_errno(errno);
}

Result<std::unique_ptr<ProcessDevice>> ProcessDevice::start(const CopyOptions& options) {
  std::unique_ptr<ProcessDevice> device(new ProcessDevice(options));
  device->helper_ = std::make_unique<Helper>();
  if (const Status status = device->helper_->start(options.timeout_ms); !status.ok()) return status;
  if (const Status status = device->hold(device->helper_->pid()); !status.ok()) return status;
  return device;
}

Result<std::unique_ptr<ProcessDevice>> ProcessDevice::attach(pid_t pid, const CopyOptions& options) {
  std::unique_ptr<ProcessDevice> device(new ProcessDevice(options));
  if (const Status status = device->hold(pid); !status.ok()) return status;
  return device;
}

Caps ProcessDevice::caps() const {
  return {.in_flight_max = options_.in_flight_max, .asynchronous = options_.asynchronous};
}

bool ProcessDevice::gone() const {
  pollfd one{process_.get(), POLLIN, 0};
  return ::poll(&one, 1, 0) != 0;
}

std::string ProcessDevice::explain() const {
  return gone() ? "the process of the memory (" + std::to_string(pid_) + ") has gone" : std::string();
}

bool ProcessDevice::owns(Address address) const {
  if (helper_ == nullptr) return true;
  const auto at = static_cast<std::uint64_t>(address);
  const std::lock_guard lock(mutex_);
  const auto behind = blocks_.upper_bound(at);
  return behind != blocks_.begin() && at - std::prev(behind)->first < std::prev(behind)->second;
}

Result<Address> ProcessDevice::allocate(std::size_t bytes) {
  if (helper_ == nullptr) return Code::unsupported;
  const Result<std::uint64_t> address = helper_->map(bytes);
  if (!address) return address.status();
  const std::lock_guard lock(mutex_);
  blocks_.emplace(*address, bytes);
  return Address{*address};
}

Status ProcessDevice::release(Address address) {
  const auto at = static_cast<std::uint64_t>(address);
  std::size_t bytes = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(at);
    if (found == blocks_.end()) return Code::invalid;
    bytes = found->second;
    blocks_.erase(found);
  }
  return helper_->unmap(at, bytes);
}

Status ProcessDevice::copy(CopyDirection direction, Address device, std::span<std::byte> host) const {
  const auto call = direction == CopyDirection::to_host ? process_vm_readv : process_vm_writev;
  auto at = static_cast<std::uint64_t>(device);
  while (!host.empty()) {
    if (gone()) return {Code::io, ESRCH};
    const iovec here{host.data(), host.size()};
    const iovec there{reinterpret_cast<void*>(static_cast<std::uintptr_t>(at)), host.size()};
    const ssize_t moved = call(pid_, &here, 1, &there, 1, 0);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return moved < 0 ? Status::from_errno(errno) : Status(Code::io, EFAULT);
    host = host.subspan(static_cast<std::size_t>(moved));
    at += static_cast<std::uint64_t>(moved);
  }
  return {};
}

Result<std::unique_ptr<Queue>> ProcessDevice::open_queue() {
  return open_copy_queue(options_, link_,
                         [this](CopyDirection direction, Address device, std::span<std::byte> host) {
                           return copy(direction, device, host);
                         });
}

}  // namespace millrace::staging
