// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace millrace::transport {

// Owns one range of mapped memory. Can be moved, but not copied.
class Mapping {
 public:
  Mapping() = default;
  Mapping(void* data, std::size_t size) : data_(data), size_(size) {}
  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping();

  std::byte* data() const { return static_cast<std::byte*>(data_); }
  std::size_t size() const { return size_; }
  bool valid() const { return data_ != nullptr; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

// Makes anonymous shared memory that nobody can shrink or grow. So a peer cannot make this process's accesses
// fault.
Result<Fd> make_memory(const char* name, std::uint64_t size);

// False: a file of this size would end the process by SIGXFSZ (RLIMIT_FSIZE, which counts for memory too).
bool may_have_files_of(std::uint64_t size);

// True if `memory` is a descriptor of such memory, with exactly this size.
bool is_sealed_memory(int memory, std::uint64_t size);

// `access`: PROT_ of mmap(2).
Result<Mapping> map(int memory, std::uint64_t size, int access = PROT_READ | PROT_WRITE);

// Maps [offset, offset + size) of `memory` twice, back to back, so that a record across the end of the ring
// is contiguous:
//
//    |<-- size -->|<-- size -->|
//    | ring       | ring again |
//
Result<Mapping> map_ring(int memory, std::uint64_t offset, std::uint64_t size);

// Sleeps while *word == expected, at most timeout_ms. May return early.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected, std::uint32_t timeout_ms);
void futex_wake(const std::atomic<std::uint32_t>& word);

// CLOCK_MONOTONIC.
std::uint64_t now_ns();

}  // namespace millrace::transport
