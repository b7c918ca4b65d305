// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "staging/entry.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "staging/cuda/find.hpp"
#include "staging/pool.hpp"

namespace millrace::staging {
namespace {

void tell(const char* line) { dprintf(STDERR_FILENO, "millrace: %s\n", line); }

// Never destroyed, because threads of the program may still write while the process ends.
Pool& pool() {
  static Pool& one = *new Pool({.tell = tell});
  return one;
}

class Outside final : public End {
 public:
  explicit Outside(const HostEnd& end) : end_(end) {}
  ssize_t write(std::span<const std::byte> from) override {
    return end_.write(end_.self, from.data(), from.size());
  }
  ssize_t read(std::span<std::byte> into) override { return end_.read(end_.self, into.data(), into.size()); }
  bool ready() override { return end_.ready(end_.self); }
  void unread(std::uint64_t bytes) override { end_.unread(end_.self, bytes); }

 private:
  const HostEnd& end_;
};

// An End whose bytes are host memory.
class Memory final : public End {
 public:
  explicit Memory(std::byte* at) : at_(at) {}
  ssize_t write(std::span<const std::byte> from) override {
    std::memcpy(at_, from.data(), from.size());
    at_ += from.size();
    return static_cast<ssize_t>(from.size());
  }
  ssize_t read(std::span<std::byte> into) override {
    std::memcpy(into.data(), at_, into.size());
    at_ += into.size();
    return static_cast<ssize_t>(into.size());
  }
  bool ready() override { return true; }
  void unread(std::uint64_t bytes) override { at_ -= bytes; }

 private:
  std::byte* at_;
};

// Catches exceptions, which must not pass through C.
template <class Move>
ssize_t guarded(const Move& move) noexcept {
  try {
    return move().count();
  } catch (const std::bad_alloc&) {
    return -ENOMEM;
  } catch (...) {
    return -EIO;
  }
}

void* device_of(const void* pointer) noexcept {
  try {
    return cuda::device_of(pointer);
  } catch (...) {
    return nullptr;
  }
}

ssize_t write(void* device, const void* from, std::size_t bytes, const HostEnd* to) noexcept {
  Outside end(*to);
  return guarded([&] { return pool().write(*static_cast<Device*>(device), address_of(from), bytes, end); });
}

ssize_t read(void* device, const HostEnd* from, void* to, std::size_t bytes) noexcept {
  Outside end(*from);
  return guarded([&] { return pool().read(*static_cast<Device*>(device), end, address_of(to), bytes); });
}

// Converts the count of a copy into 0 or an errno. A short count is an error.
int whole(ssize_t moved, std::size_t bytes) {
  if (moved < 0) return static_cast<int>(-moved);
  return static_cast<std::size_t>(moved) == bytes ? 0 : EIO;
}

int copy_to_host(void* device, const void* from, void* to, std::size_t bytes) noexcept {
  Memory end(static_cast<std::byte*>(to));
  return whole(
      guarded([&] { return pool().write(*static_cast<Device*>(device), address_of(from), bytes, end); }),
      bytes);
}

int copy_to_device(void* device, const void* from, void* to, std::size_t bytes) noexcept {
  Memory end(static_cast<std::byte*>(const_cast<void*>(from)));
  return whole(
      guarded([&] { return pool().read(*static_cast<Device*>(device), end, address_of(to), bytes); }), bytes);
}

}  // namespace
}  // namespace millrace::staging

extern "C" __attribute__((visibility("default"))) const millrace::staging::DeviceEntry* millrace_device_entry(
    unsigned version) noexcept {
  using namespace millrace::staging;
  static const DeviceEntry one{device_of, write, read, copy_to_host, copy_to_device};
  return version == entry_version ? &one : nullptr;
}
