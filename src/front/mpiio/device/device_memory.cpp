// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/device/device_memory.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "base/settings.hpp"

namespace millrace::front {
namespace {

// Pieces within this many bytes of device memory are fetched with one copy.
constexpr std::size_t hull_bytes = 1 * MiB;
constexpr std::size_t slices_max = 4096;

}  // namespace

DeviceMemory::Slice DeviceMemory::take(std::size_t most) {
  if (current_.bytes == 0) {
    client::Piece piece{};
    if (source_.next(std::span(&piece, 1)) == 0) return {};
    current_ = {static_cast<std::byte*>(const_cast<void*>(piece.data)), piece.size};
  }
  const Slice some{current_.at, std::min(current_.bytes, most)};
  current_ = {current_.at + some.bytes, current_.bytes - some.bytes};
  return some;
}

int DeviceMemory::copy_slices(std::byte* into) {
  int error = 0;
  if (slices_.size() > 1) {
    std::byte* begin = slices_.front().at;
    std::byte* end = begin;
    for (const Slice& slice : slices_) {
      begin = std::min(begin, slice.at);
      end = std::max(end, slice.at + slice.bytes);
    }
    const auto size = static_cast<std::size_t>(end - begin);
    scratch_.resize(size);
    if (found_.entry->copy_to_host(found_.device, begin, scratch_.data(), size) == 0) {
      for (const Slice& slice : slices_) {
        std::memcpy(into, scratch_.data() + (slice.at - begin), slice.bytes);
        into += slice.bytes;
      }
      slices_.clear();
      return 0;
    }
  }
  // There is one piece, or the device does not own the memory between the pieces.
  for (const Slice& slice : slices_) {
    if (error == 0) error = found_.entry->copy_to_host(found_.device, slice.at, into, slice.bytes);
    into += slice.bytes;
  }
  slices_.clear();
  return error;
}

int DeviceMemory::gather(std::byte* into, std::size_t bytes) {
  std::byte* lowest = nullptr;
  std::byte* highest = nullptr;
  std::size_t gathered = 0;  // by `slices_`
  int error = 0;
  while (bytes > 0 && error == 0) {
    const Slice slice = take(std::min(bytes, hull_bytes));
    std::byte* low = slices_.empty() ? slice.at : std::min(lowest, slice.at);
    std::byte* high = slices_.empty() ? slice.at + slice.bytes : std::max(highest, slice.at + slice.bytes);
    const bool near = static_cast<std::size_t>(high - low) <= hull_bytes && slices_.size() < slices_max;
    if (!near) {
      error = copy_slices(into);
      into += gathered;
      gathered = 0;
      low = slice.at;
      high = slice.at + slice.bytes;
    }
    slices_.push_back(slice);
    lowest = low;
    highest = high;
    gathered += slice.bytes;
    bytes -= slice.bytes;
  }
  return error != 0 ? error : copy_slices(into);
}

int DeviceMemory::scatter(const std::byte* from, std::size_t bytes) {
  while (bytes > 0) {
    const Slice slice = take(bytes);
    if (const int error = found_.entry->copy_to_device(found_.device, from, slice.at, slice.bytes))
      return error;
    from += slice.bytes;
    bytes -= slice.bytes;
  }
  return 0;
}

}  // namespace millrace::front
