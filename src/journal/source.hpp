// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "io/posix/descriptor.hpp"

namespace millrace::journal {

// Where a reader gets bytes from.
class Source {
 public:
  virtual ~Source() = default;
  // Fills `into` from `offset` on; fewer bytes only at the end.
  virtual Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> into) = 0;
};

class FileSource final : public Source {
 public:
  explicit FileSource(Fd file) : file_(std::move(file)) {}
  Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> into) override {
    return io::read_at(file_, offset, into);
  }

 private:
  Fd file_;
};

class MemorySource final : public Source {
 public:
  explicit MemorySource(std::span<const std::byte> bytes) : bytes_(bytes) {}
  Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> into) override {
    if (offset >= bytes_.size()) return std::size_t{0};
    const std::size_t some = std::min<std::size_t>(into.size(), bytes_.size() - offset);
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), some, into.begin());
    return some;
  }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace millrace::journal
