// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

// The interface of libmillrace_device.so for preloads: a table of C functions. So preloads need no C++
// library, and all preloads of a process share one pool of staging memory. A preload loads the library at the
// first device pointer.
namespace millrace::staging {

inline constexpr unsigned entry_version = 2;
inline constexpr const char* entry_symbol = "millrace_device_entry";
inline constexpr const char* entry_library = "libmillrace_device.so";

// End (end.hpp) in C. Each function gets `self`.
struct HostEnd {
  void* self;
  ssize_t (*write)(void* self, const void* from, std::size_t bytes);
  ssize_t (*read)(void* self, void* into, std::size_t bytes);
  bool (*ready)(void* self);
  void (*unread)(void* self, std::uint64_t bytes);
};

struct DeviceEntry {
  // Returns the device of this memory, or null for memory that the host can access.
  void* (*device_of)(const void* pointer);
  // The functions of Pool. They return the bytes moved, or -errno.
  ssize_t (*write)(void* device, const void* from, std::size_t bytes, const HostEnd* to);
  ssize_t (*read)(void* device, const HostEnd* from, void* to, std::size_t bytes);
  // Copy all bytes before they return. They return 0 or an errno.
  int (*copy_to_host)(void* device, const void* from, void* to, std::size_t bytes);
  int (*copy_to_device)(void* device, const void* from, void* to, std::size_t bytes);
};

// Returns null if the library belongs to another version.
using EntryFunction = const DeviceEntry* (*)(unsigned version);

}  // namespace millrace::staging
