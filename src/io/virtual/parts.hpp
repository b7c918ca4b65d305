// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/checksum.hpp"
#include "io/storage.hpp"

// The parts of a request's memory, of which some are gaps.
namespace millrace::io {

inline std::uint64_t total(const std::vector<iovec>& data, bool gaps) {
  std::uint64_t bytes = 0;
  for (const iovec& part : data) bytes += gaps || part.iov_base != nullptr ? part.iov_len : 0;
  return bytes;
}

inline std::uint64_t digest(const std::vector<iovec>& data) {
  std::uint64_t sum = 0;
  for (const iovec& part : data) {
    if (part.iov_base != nullptr) sum = checksum(part.iov_base, part.iov_len, sum);
  }
  return sum;
}

// Calls f(where in the file, memory, bytes) for the parts that are no gaps, of the first `most` bytes.
template <class F>
void each_part(const Request& request, std::uint64_t most, F f) {
  std::uint64_t at = 0;
  for (const iovec& part : request.data) {
    if (at >= most) return;
    const std::uint64_t bytes = std::min<std::uint64_t>(part.iov_len, most - at);
    if (part.iov_base != nullptr) f(request.offset + at, static_cast<std::byte*>(part.iov_base), bytes);
    at += part.iov_len;
  }
}

}  // namespace millrace::io
