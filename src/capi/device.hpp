// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "capi/handles.hpp"
#include "capi/outcome.hpp"
#include "millrace/millrace.h"
#include "staging/device.hpp"

namespace millrace::capi {

class Library;

// A device that the program has opened, and the program's memory there. Thread safe.
class OpenDevice {
 public:
  using Handle = millrace_device;
  static constexpr HandleKind kind = HandleKind::device;

  // `which` is the argument of millrace_device_open(). Null: `outcome` has the reason.
  static std::shared_ptr<OpenDevice> open(Library& library, const std::string& which, Outcome& outcome);
  OpenDevice(Library& library, std::unique_ptr<staging::Device> device)
      : library_(library), device_(std::move(device)) {}
  ~OpenDevice();
  OpenDevice(const OpenDevice&) = delete;
  OpenDevice& operator=(const OpenDevice&) = delete;

  staging::Device& get() { return *device_; }
  Outcome allocate(std::uint64_t bytes, void*& address);
  Outcome release(void* address);

 private:
  Library& library_;
  std::unique_ptr<staging::Device> device_;
  std::mutex mutex_;
  std::set<std::uint64_t> allocated_;  // guarded by mutex_
};

}  // namespace millrace::capi
