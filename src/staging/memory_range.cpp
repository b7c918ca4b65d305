// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "staging/memory_range.hpp"

#include <cerrno>
#include <cstring>

namespace millrace::staging {

namespace {

// An End whose bytes are in this process's memory.
class MemoryEnd final : public End {
 public:
  explicit MemoryEnd(std::span<std::byte> into) : into_(into) {}
  explicit MemoryEnd(std::span<const std::byte> from) : from_(from) {}

  ssize_t write(std::span<const std::byte> from) override {
    std::memcpy(into_.data() + done_, from.data(), from.size());
    done_ += from.size();
    return static_cast<ssize_t>(from.size());
  }
  ssize_t read(std::span<std::byte> into) override {
    std::memcpy(into.data(), from_.data() + done_, into.size());
    done_ += into.size();
    return static_cast<ssize_t>(into.size());
  }
  bool ready() override { return true; }
  void unread(std::uint64_t bytes) override { done_ -= bytes; }

 private:
  std::span<std::byte> into_;
  std::span<const std::byte> from_;
  std::size_t done_ = 0;
};

// Makes calls of at most request_max each, until all bytes are moved.
template <class Move>
Status all_of(std::uint64_t bytes, const Move& move) {
  for (std::uint64_t done = 0; done < bytes;) {
    const Moved some = move(done);
    if (!some.status.ok()) return some.status;
    if (some.bytes == 0) return {Code::io, EIO};
    done += some.bytes;
  }
  return {};
}

}  // namespace

Status copy_from(Pool& pool, const MemoryRange& range, std::span<std::byte> host) {
  if (host.empty()) return {};
  if (range.device == nullptr) {
    std::memcpy(host.data(), range.here(), host.size());
    return {};
  }
  MemoryEnd end(host);
  return all_of(host.size(), [&](std::uint64_t done) {
    return pool.write(*range.device, range.at + done, host.size() - done, end);
  });
}

Status copy_to(Pool& pool, const MemoryRange& range, std::span<const std::byte> host) {
  if (host.empty()) return {};
  if (range.device == nullptr) {
    std::memcpy(range.here(), host.data(), host.size());
    return {};
  }
  MemoryEnd end(host);
  return all_of(host.size(), [&](std::uint64_t done) {
    return pool.read(*range.device, end, range.at + done, host.size() - done);
  });
}

}  // namespace millrace::staging
