// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

namespace bench {

// There is no device, or it cannot be used; what() has the reason.
class NoDevice : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class Direction { write, read };  // to the device, from the device

// Memory that is reached by copies only, and the means that its driver has for them. Failures throw
// std::runtime_error in the driver's words. For one thread.
class Device {
 public:
  static constexpr unsigned queues = 2;

  virtual ~Device() = default;
  virtual std::string name() const = 0;
  // Stands in for a device: its results are right, its times mean nothing.
  virtual bool functional_only() const = 0;

  virtual std::uint64_t allocate(std::size_t size) = 0;
  virtual void release(std::uint64_t address) = 0;
  // Host memory that the driver knows.
  virtual void* allocate_pinned(std::size_t size) = 0;
  virtual void release_pinned(void* memory) = 0;

  // Done when it returns.
  virtual void copy(Direction direction, void* host, std::uint64_t device, std::size_t size) = 0;
  // Copies of one queue are done in turn; both sides are left alone until wait() has returned.
  virtual void post(Direction direction, void* host, std::uint64_t device, std::size_t size,
                    unsigned queue) = 0;
  virtual void wait(unsigned queue) = 0;
};

// NVIDIA's driver, opened at run time by the name `library`.
int cuda_devices(const std::string& library);
std::unique_ptr<Device> open_cuda(const std::string& library, int index);

// The memory of a child process, by process_vm_readv and process_vm_writev.
std::unique_ptr<Device> open_process();

// Pinned host memory for as long as this lives.
class Pinned {
 public:
  Pinned(Device& device, std::size_t size) : device_(device), memory_(device.allocate_pinned(size)) {}
  ~Pinned() { device_.release_pinned(memory_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  unsigned char* data() const { return static_cast<unsigned char*>(memory_); }

 private:
  Device& device_;
  void* memory_;
};

}  // namespace bench
