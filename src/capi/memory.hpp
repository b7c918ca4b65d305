// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "capi/device.hpp"
#include "staging/memory_range.hpp"

namespace millrace::capi {

// A range of the program's memory. It keeps the device of the memory alive.
struct HeldMemory {
  std::shared_ptr<OpenDevice> device;  // null: memory of this process
  staging::MemoryRange range;

  // False: `device` is neither null nor open.
  static bool find(const Handles& handles, millrace_device* device, const void* address, std::uint64_t bytes,
                   HeldMemory& memory) {
    memory.device = handles.find<OpenDevice>(device);
    if (device != nullptr && memory.device == nullptr) return false;
    memory.range = {memory.device != nullptr ? &memory.device->get() : nullptr, staging::address_of(address),
                    bytes};
    return true;
  }
};

}  // namespace millrace::capi
