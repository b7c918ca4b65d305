// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/result.hpp"

namespace millrace::staging {

inline constexpr std::size_t page_bytes = 4096;

// Host memory for copies. The mapping is private, and in huge pages if the system has them. Children of
// fork() do not inherit it, because copy-on-write could move a page away while a device writes to it.
class Buffers {
 public:
  static Result<std::unique_ptr<Buffers>> create(std::size_t bytes);
  ~Buffers();
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  std::span<std::byte> all() const { return all_; }
  // Keeps the mapping for ever.
  void abandon() { all_ = {}; }

 private:
  explicit Buffers(std::span<std::byte> all) : all_(all) {}
  std::span<std::byte> all_;
};

}  // namespace millrace::staging
