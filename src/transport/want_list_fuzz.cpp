// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
//
// Reads the fuzzer's bytes as a list of wishes. A list that is read keeps the bounds, and is the same after
// it has been written and read again.
#include <cstdlib>

#include "transport/want_list.hpp"

using namespace millrace;             // NOLINT: one small program
using namespace millrace::transport;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<Extent> extents;
  if (!read_want_list(std::as_bytes(std::span(data, size)), extents)) return 0;
  if (extents.empty() || extents.size() > want_max_extents) std::abort();
  WantWriter writer(want_max_payload);
  std::uint64_t end = 0, bytes = 0;
  bool fits = true;
  for (const Extent extent : extents) {
    if (extent.empty() || extent.begin < end || extent.end > UINT64_MAX / 2) std::abort();
    end = extent.end;
    bytes += extent.size();
    fits = fits && writer.add(extent);
  }
  if (bytes > want_max_bytes) std::abort();
  if (!fits) return 0;
  std::vector<Extent> again;
  if (!read_want_list(writer.finish(), again)) std::abort();
  // Extents that touch become one.
  std::vector<Extent> joined;
  for (const Extent extent : extents) {
    if (!joined.empty() && joined.back().end == extent.begin) {
      joined.back().end = extent.end;
    } else {
      joined.push_back(extent);
    }
  }
  std::uint64_t again_bytes = 0;
  for (const Extent extent : again) again_bytes += extent.size();
  if (again_bytes != bytes || again.front().begin != joined.front().begin || again.back().end != end)
    std::abort();
  return 0;
}
