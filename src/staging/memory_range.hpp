// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "staging/pool.hpp"

namespace millrace::staging {

// A range of a program's memory. `at` is an address of `device`, or of this process if `device` is null.
struct MemoryRange {
  Device* device = nullptr;
  Address at{};
  std::uint64_t bytes = 0;

  static MemoryRange of(std::span<std::byte> host) { return {nullptr, address_of(host.data()), host.size()}; }
  // The address, if the range is in this process.
  std::byte* here() const { return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(at)); }
};

// Copy all bytes or return an error. `host` is as large as `range`.
Status copy_from(Pool& pool, const MemoryRange& range, std::span<std::byte> host);
Status copy_to(Pool& pool, const MemoryRange& range, std::span<const std::byte> host);

}  // namespace millrace::staging
