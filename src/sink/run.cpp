// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "sink/run.hpp"

#include <utility>

#include "io/storage.hpp"

namespace millrace::sink {

namespace {

constexpr std::uint64_t block = io::direct_alignment;

// Appends bytes to the last part if that part has the same kind, or else begins a new part.
void extend(std::vector<WriteRun>& parts, bool direct, std::uint64_t offset, const std::byte* from,
            std::uint64_t bytes) {
  if (bytes == 0) return;
  if (parts.empty() || parts.back().direct != direct) parts.push_back({offset, 0, {}, direct});
  parts.back().append(from, bytes);
}

void extend(std::vector<WriteRun>& parts, bool direct, const WriteRun& whole) {
  std::uint64_t at = whole.offset;
  for (const iovec& piece : whole.data) {
    extend(parts, direct, at, static_cast<const std::byte*>(piece.iov_base), piece.iov_len);
    at += piece.iov_len;
  }
}

}  // namespace

void WriteRun::append(const std::byte* from, std::uint64_t bytes) {
  // An iovec has no const pointer, but no code writes through this one.
  auto* const memory = const_cast<std::byte*>(from);
  length += bytes;
  if (!data.empty() && static_cast<std::byte*>(data.back().iov_base) + data.back().iov_len == memory) {
    data.back().iov_len += bytes;
  } else {
    data.push_back({memory, bytes});
  }
}

void WriteRun::leave_gap(std::uint64_t bytes) {
  length += bytes;
  gap_bytes += bytes;
  ++gaps;
  data.push_back({nullptr, bytes});
}

std::vector<WriteRun> split_direct(const WriteRun& run, std::uint64_t direct_min) {
  std::vector<WriteRun> fine;
  std::uint64_t at = run.offset;
  for (const iovec& piece : run.data) {
    const auto* const from = static_cast<const std::byte*>(piece.iov_base);
    const std::uint64_t end = at + piece.iov_len;
    const std::uint64_t middle = (at + block - 1) / block * block;
    const std::uint64_t tail = end / block * block;
    const bool congruent = (reinterpret_cast<std::uintptr_t>(from) - at) % block == 0;
    if (congruent && middle < tail) {
      extend(fine, false, at, from, middle - at);
      extend(fine, true, middle, from + (middle - at), tail - middle);
      extend(fine, false, tail, from + (tail - at), end - tail);
    } else {
      extend(fine, false, at, from, piece.iov_len);
    }
    at = end;
  }
  std::vector<WriteRun> parts;
  for (const WriteRun& part : fine) extend(parts, part.direct && part.length >= direct_min, part);
  return parts;
}

}  // namespace millrace::sink
