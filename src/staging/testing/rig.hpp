// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/settings.hpp"
#include "staging/cuda/cuda_device.hpp"
#include "staging/host/host_device.hpp"
#include "staging/process/process_device.hpp"
#include "staging/testing/fake_cuda.h"

// Devices of every kind for tests, and device memory with known bytes.
namespace millrace::staging::testing {

using Bytes = std::vector<std::byte>;

inline std::uint64_t test_seed() {
  const char* given = std::getenv("MILLRACE_TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 20261121;
}

inline Bytes pattern(std::size_t bytes, std::uint64_t seed = 1) {
  Bytes all(bytes);
  std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (std::byte& one : all) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    one = static_cast<std::byte>(state >> 56);
  }
  return all;
}

inline const std::vector<std::string>& backends() {
  static const std::vector<std::string> all{"host", "host_at_once", "host_delayed", "process", "cuda"};
  return all;
}

inline std::unique_ptr<Device> make_device(const std::string& backend, std::uint64_t timeout_ms = 20'000) {
  CopyOptions options;
  options.timeout_ms = timeout_ms;
  if (backend == "host_at_once") options.asynchronous = false;
  if (backend == "host_delayed") options.delays = {{2e9, 3e9}, {20'000, 30'000}, 300'000, test_seed()};
  if (backend == "process") {
    Result<std::unique_ptr<ProcessDevice>> device = ProcessDevice::start(options);
    EXPECT_TRUE(device.ok()) << device.status().describe();
    return device.ok() ? *std::move(device) : nullptr;
  }
  if (backend == "cuda") {
    std::string why;
    Result<std::unique_ptr<cuda::CudaDevice>> device = cuda::CudaDevice::open(0, {timeout_ms}, why);
    EXPECT_TRUE(device.ok()) << why;
    return device.ok() ? *std::move(device) : nullptr;
  }
  return std::make_unique<HostDevice>(options);
}

// Makes one copy and waits for it.
inline Status copy_now(Device& device, CopyDirection direction, Address at, std::span<std::byte> host) {
  Result<std::unique_ptr<Queue>> queue = device.open_queue();
  if (!queue) return queue.status();
  if (const Status status = (*queue)->mark(); !status.ok()) return status;
  if (const Status status = (*queue)->settle(); !status.ok()) return status;
  const Result<CopyTicket> ticket = (*queue)->post(direction, at, host);
  return ticket.ok() ? (*queue)->wait(*ticket) : ticket.status();
}

// Memory of a device for a scope.
class Memory {
 public:
  Memory(Device& device, std::size_t bytes) : device_(device), bytes_(bytes) {
    const Result<Address> address = device.allocate(std::max<std::size_t>(bytes, 1));
    EXPECT_TRUE(address.ok()) << address.status().describe();
    if (address.ok()) address_ = *address;
  }
  Memory(Device& device, const Bytes& bytes) : Memory(device, bytes.size()) { put(bytes); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { (void)device_.release(address_); }

  Address at() const { return address_; }
  void put(Bytes bytes) {
    EXPECT_TRUE(bytes.empty() || copy_now(device_, CopyDirection::to_device, address_, bytes).ok());
  }
  Bytes get() {
    Bytes bytes(bytes_);
    EXPECT_TRUE(bytes.empty() || copy_now(device_, CopyDirection::to_host, address_, bytes).ok());
    return bytes;
  }

 private:
  Device& device_;
  std::size_t bytes_;
  Address address_{};
};

// A file in memory.
class File {
 public:
  explicit File(const Bytes& contents = {}) : fd_(memfd_create("staging-test", MFD_CLOEXEC)) {
    EXPECT_TRUE(fd_.valid());
    EXPECT_EQ(pwrite(fd_.get(), contents.data(), contents.size(), 0), static_cast<ssize_t>(contents.size()));
  }
  int get() const { return fd_.get(); }
  off_t position() const { return lseek(fd_.get(), 0, SEEK_CUR); }
  Bytes contents() const {
    Bytes all(static_cast<std::size_t>(size()));
    EXPECT_EQ(pread(fd_.get(), all.data(), all.size(), 0), static_cast<ssize_t>(all.size()));
    return all;
  }
  off_t size() const {
    struct stat about {};
    EXPECT_EQ(fstat(fd_.get(), &about), 0);
    return about.st_size;
  }

 private:
  Fd fd_;
};

inline Bytes first(const Bytes& bytes, std::size_t count) {
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count)};
}

inline std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

// Runs each test with every kind of device. At its end, a test must have released everything.
class EachDevice : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    fake_cuda_reset(test_seed(), 200);
    fds_ = open_descriptors();
    device = make_device(GetParam());
    ASSERT_NE(device, nullptr);
  }
  void TearDown() override {
    device.reset();
    EXPECT_EQ(open_descriptors(), fds_);
    fake_cuda_live live{};
    fake_cuda_get_live(&live);
    EXPECT_EQ(live.misuse, 0) << fake_cuda_last_misuse();
    EXPECT_EQ(live.streams + live.events + live.registrations + live.allocations, 0);
    EXPECT_EQ(live.retained + live.pushed, 0);
  }

  std::unique_ptr<Device> device;

 private:
  std::size_t fds_ = 0;
};

inline std::string backend_name(const ::testing::TestParamInfo<std::string>& info) { return info.param; }

}  // namespace millrace::staging::testing
