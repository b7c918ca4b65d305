// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

// libmillrace_device.so as preloads see it: a table of C functions. So preloads need no C++ library, and all
// preloads of a process share one pool of staging memory. The first device pointer loads the library.
namespace millrace::staging {

inline constexpr unsigned entry_version = 1;
inline constexpr const char* entry_symbol = "millrace_device_entry";
inline constexpr const char* entry_library = "libmillrace_device.so";

// End, in C: each of its functions gets `self`, and returns the bytes moved, or -errno.
struct HostEnd {
  void* self;
  ssize_t (*write)(void* self, const void* from, std::size_t bytes);
  ssize_t (*read)(void* self, void* into, std::size_t bytes);
  bool (*ready)(void* self);
  void (*unread)(void* self, std::uint64_t bytes);
};

struct Entry {
  // The device of this memory; null for memory that the host can access.
  void* (*device_of)(const void* pointer);
  // As Pool's: bytes moved, or -errno.
  ssize_t (*write)(void* device, const void* from, std::size_t bytes, const HostEnd* to);
  ssize_t (*read)(void* device, const HostEnd* from, void* to, std::size_t bytes);
  // A plain copy, which the caller waits for; errno or 0.
  int (*copy_to_host)(void* device, const void* from, void* to, std::size_t bytes);
  int (*copy_to_device)(void* device, const void* from, void* to, std::size_t bytes);
  std::uint64_t bytes_max;  // of the pool
};

// Null: the library belongs to another version.
using EntryFunction = const Entry* (*)(unsigned version);

}  // namespace millrace::staging
