// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "client/view.hpp"
#include "front/device/door.hpp"

namespace millrace::front {

// Memory of a device with holes, and a row of bytes in host memory. Its functions return 0, or an errno.
class DeviceMemory {
 public:
  DeviceMemory(const device::Found& found, const client::TypeMap& map, void* memory, std::uint64_t count)
      : found_(found), source_(flat_, 0, map, memory, count) {}

  // The next `bytes` of data, no more than are left. Bytes between pieces are read, never written.
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
  Slice current_{};  // what is left of a piece
  std::vector<Slice> slices_;
  std::vector<std::byte> scratch_;
};

}  // namespace millrace::front
