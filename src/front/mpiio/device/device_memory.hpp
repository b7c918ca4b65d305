// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "client/view/view.hpp"
#include "front/device/door.hpp"

namespace millrace::front {

// Copies between device memory with holes and contiguous host memory. The functions return 0 or an errno.
class DeviceMemory {
 public:
  DeviceMemory(const device::Found& found, const client::TypeMap& map, void* memory, std::uint64_t count)
      : found_(found), source_(flat_, 0, map, memory, count) {}

  // Copies the next `bytes` bytes of data; the caller asks for no more than are left. The copies may read the
  // bytes between the pieces, but never write them.
  int gather(std::byte* into, std::size_t bytes);
  int scatter(const std::byte* from, std::size_t bytes);

 private:
  struct Slice {
    std::byte* at;
    std::size_t bytes;
  };
  Slice take(std::size_t most);
  int copy_slices(std::byte* into);

  client::FileView flat_;
  device::Found found_;
  client::PieceSource source_;
  Slice current_{};  // the rest of a piece
  std::vector<Slice> slices_;
  std::vector<std::byte> scratch_;
};

}  // namespace millrace::front
