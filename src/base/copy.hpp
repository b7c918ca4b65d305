// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace millrace {

namespace detail {

// Copies `size` bytes with two copies, which may overlap. Needs bytes <= size <= 2 * bytes.
template <std::size_t bytes>
inline void copy_ends(std::byte* to, const std::byte* from, std::size_t size) {
  std::byte first[bytes], last[bytes];
  std::memcpy(first, from, bytes);
  std::memcpy(last, from + size - bytes, bytes);
  std::memcpy(to, first, bytes);
  std::memcpy(to + size - bytes, last, bytes);
}

}  // namespace detail

// memcpy() that needs no call for up to 64 bytes. Records of structs often have 12 to 40 bytes.
inline void copy_bytes(std::byte* to, const std::byte* from, std::size_t size) {
  if (size > 64) {
    std::memcpy(to, from, size);
  } else if (size >= 32) {
    detail::copy_ends<32>(to, from, size);
  } else if (size >= 16) {
    detail::copy_ends<16>(to, from, size);
  } else if (size >= 8) {
    detail::copy_ends<8>(to, from, size);
  } else if (size >= 4) {
    detail::copy_ends<4>(to, from, size);
  } else {
    for (std::size_t i = 0; i < size; ++i) to[i] = from[i];
  }
}

}  // namespace millrace
