// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <mutex>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace millrace::staging {

// A child process that only holds memory. It exits when its socket closes or its parent ends. Thread safe.
class Helper {
 public:
  Helper() = default;
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;
  ~Helper();

  Status start(std::uint64_t timeout_ms);
  pid_t pid() const { return pid_; }
  // Maps anonymous memory in the child. Returns the address there.
  Result<std::uint64_t> map(std::uint64_t bytes);
  Status unmap(std::uint64_t address, std::uint64_t bytes);

 private:
  Result<std::uint64_t> ask(std::uint64_t address, std::uint64_t bytes);

  std::mutex mutex_;  // one question at a time
  Fd socket_;
  pid_t pid_ = -1;
  pid_t parent_ = -1;
};

}  // namespace millrace::staging
