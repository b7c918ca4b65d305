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
  std::string reason;  // one clause for people: why this one
};

// The implementation for a sink mode on this machine: threads for buffered and automatic; for direct io_uring
// if it may be used, else threads. Fails only if no thread can be started.
Result<Chosen> make_storage(SinkMode mode);

struct Availability {
  bool usable;
  std::string reason;  // empty if usable; else the obstacle and what to do
};

// Tries to set up a ring, and takes it down again.
Availability io_uring_availability();

}  // namespace millrace::io
