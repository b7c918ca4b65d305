// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "base/settings.hpp"
#include "io/storage.hpp"

namespace millrace::io {

struct Chosen {
  std::unique_ptr<Storage> storage;
  const char* name;    // "threads" or "io_uring"
  std::string reason;  // the reason for this choice, for reports
};

// Makes the implementation for a sink mode on this machine. For `direct` this is io_uring if the kernel
// allows it. Otherwise it is threads. Fails only if no thread can be started.
Result<Chosen> make_storage(SinkMode mode);

struct Availability {
  bool usable;
  std::string reason;  // empty if io_uring is usable; else the obstacle and what to do
};

// Sets up a ring and removes it again, to see whether the kernel allows io_uring.
Availability io_uring_availability();

}  // namespace millrace::io
