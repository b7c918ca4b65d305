// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.hpp"

// The contract of devices: memory that the host reaches by copies only, and the queues that copy.
namespace millrace::staging {

// An address in a device's memory. Never dereferenced here.
enum class Address : std::uint64_t {};

constexpr Address operator+(Address address, std::uint64_t bytes) {
  return Address{static_cast<std::uint64_t>(address) + bytes};
}
inline Address address_of(const void* pointer) {
  return Address{static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(pointer))};
}

enum class CopyDirection : std::uint8_t { to_host = 0, to_device = 1 };

struct Caps {
  std::size_t alignment = 1;             // of host memory, for full speed; other alignments work too
  std::size_t transfer_max = SIZE_MAX;   // bytes of one post()
  std::size_t in_flight_max = SIZE_MAX;  // tickets of a queue that have not been waited for
  bool asynchronous = false;             // post() returns before the bytes have moved
};

// The number of a copy in its queue. Numbers grow.
using CopyTicket = std::uint64_t;

// Carries out copies in the order in which they were posted. One thread uses a queue at a time, and the
// device outlives it. A failed copy returns its error at its own poll() or wait(): EFAULT if the address is
// not in the device's memory.
class Queue {
 public:
  virtual ~Queue() = default;

  // Marks the work that the program itself has enqueued on the device so far.
  virtual Status mark() = 0;
  // Waits until the work of the last mark() is done, as a synchronous copy does. This wait has no bound,
  // because the work is the program's own.
  virtual Status settle() = 0;
  // Begins a copy. The caller keeps `host` valid and does not touch it until poll() or wait() has reported
  // the end of the copy. Code::invalid if in_flight_max tickets are open.
  virtual Result<CopyTicket> post(CopyDirection direction, Address device, std::span<std::byte> host) = 0;
  // True: the copy has succeeded. False: the copy is under way. After its end is reported once, a ticket is
  // not valid any more.
  virtual Result<bool> poll(CopyTicket ticket) = 0;
  // Waits for the end of the copy. Code::timeout after the device's bound: the copy may still run, and `host`
  // must never be used again.
  virtual Status wait(CopyTicket ticket) = 0;
};

// A device with its own memory. Thread safe. A child of fork() must not use its parent's devices
// (inherited()).
class Device {
 public:
  Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  virtual const char* name() const = 0;
  virtual Caps caps() const = 0;
  // True for memory that only copies reach. False for memory that the host can access, even if a driver has
  // made it. Takes 0.1 to 1 us, so hooks ask only after the system call has failed with EFAULT.
  virtual bool owns(Address address) const = 0;

  virtual Result<Address> allocate(std::size_t bytes) = 0;
  virtual Status release(Address address) = 0;

  // Registers host memory, so that copies from and to it are quick. `host` consists of whole pages. Pinning
  // it twice is an error.
  virtual Status pin(std::span<std::byte> host) = 0;
  virtual Status unpin(std::span<std::byte> host) = 0;

  virtual Result<std::unique_ptr<Queue>> open_queue() = 0;

  // The device's message about the last error on any thread; empty if there was none.
  virtual std::string explain() const { return {}; }

  bool inherited() const;

 private:
  int process_;
};

}  // namespace millrace::staging
