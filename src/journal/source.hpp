// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

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

// Of an open file, which outlives it.
class FileSource final : public Source {
 public:
  explicit FileSource(const Fd& file) : file_(file) {}
  Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> into) override {
    return io::read_at(file_, offset, into);
  }

 private:
  const Fd& file_;
};

}  // namespace millrace::journal
