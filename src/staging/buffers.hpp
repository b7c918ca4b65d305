// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/result.hpp"

namespace millrace::staging {

// Host memory for copies: private, in huge pages if the system has them, and absent in children of fork().
// Their copy-on-write would move the pages away under a device that writes to them.
class Buffers {
 public:
  static Result<std::unique_ptr<Buffers>> create(std::size_t bytes);
  ~Buffers();
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  std::span<std::byte> all() const { return all_; }
  // The mapping is never removed.
  void abandon() { all_ = {}; }

 private:
  explicit Buffers(std::span<std::byte> all) : all_(all) {}
  std::span<std::byte> all_;
};

}  // namespace millrace::staging
