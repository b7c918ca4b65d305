// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "millrace/millrace.h"
#include "staging/testing/fake_cuda.h"

// Tests use the library as a program does: through millrace.h alone. At its end, a test must have closed
// every handle and freed all memory.
namespace millrace::capi::testing {

using Bytes = std::vector<unsigned char>;

inline Bytes pattern(std::size_t bytes, unsigned seed = 1) {
  Bytes all(bytes);
  std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (unsigned char& one : all) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    one = static_cast<unsigned char>(state >> 56);
  }
  return all;
}

inline std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

inline std::uint64_t open_handles() {
  millrace_counts counts;
  EXPECT_EQ(millrace_get_counts(&counts, sizeof counts), 0);
  return counts.handles;
}

class Api : public ::testing::Test {
 protected:
  void SetUp() override {
    fake_cuda_reset(7, 100);
    folder = ::testing::TempDir() + "millrace-capi-XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    handles_ = open_handles();
    descriptors_ = open_descriptors();
  }
  void TearDown() override {
    EXPECT_EQ(open_handles(), handles_);
    EXPECT_EQ(open_descriptors(), descriptors_);
    fake_cuda_live live{};
    fake_cuda_get_live(&live);
    EXPECT_EQ(live.misuse, 0) << fake_cuda_last_misuse();
    EXPECT_EQ(live.streams + live.events + live.registrations + live.allocations, 0);
    EXPECT_EQ(live.retained + live.pushed, 0);
    std::filesystem::remove_all(folder);
  }

  std::string path(const char* name = "file") const { return folder + "/" + name; }
  millrace_file* open(int flags = MILLRACE_READ | MILLRACE_WRITE | MILLRACE_CREATE) const {
    millrace_file* file = nullptr;
    EXPECT_EQ(millrace_open(path().c_str(), flags, 0600, &file), 0) << millrace_explain();
    return file;
  }
  Bytes contents() const {
    std::ifstream file(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string folder;

 private:
  std::uint64_t handles_ = 0;
  std::size_t descriptors_ = 0;
};

// Memory of a device, with known bytes.
class Memory {
 public:
  Memory(millrace_device* device, const Bytes& bytes) : device_(device), bytes_(bytes.size()) {
    EXPECT_EQ(millrace_alloc(device, bytes.size(), &address_), 0) << millrace_explain();
    EXPECT_EQ(millrace_write_mem(device, address_, bytes.data(), bytes.size()), 0) << millrace_explain();
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { EXPECT_EQ(millrace_free(device_, address_), 0) << millrace_explain(); }

  void* at() const { return address_; }
  Bytes get() const {
    Bytes bytes(bytes_);
    EXPECT_EQ(millrace_read_mem(device_, bytes.data(), address_, bytes_), 0) << millrace_explain();
    return bytes;
  }

 private:
  millrace_device* device_;
  std::size_t bytes_;
  void* address_ = nullptr;
};

// Runs the same test with every kind of device.
class EachDevice : public Api, public ::testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    Api::SetUp();
    ASSERT_EQ(millrace_device_open(GetParam().c_str(), &device), 0) << millrace_explain();
  }
  void TearDown() override {
    EXPECT_EQ(millrace_device_close(device), 0) << millrace_explain();
    Api::TearDown();
  }
  millrace_device* device = nullptr;
};

}  // namespace millrace::capi::testing
