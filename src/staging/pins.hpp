// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <span>

#include "base/result.hpp"

namespace millrace::staging {

// Locks pages into memory, for devices without a driver. The pages count against the limit on locked memory,
// as memory does that is registered with a driver or with io_uring. Thread safe.
class PageLocks {
 public:
  PageLocks() = default;
  PageLocks(const PageLocks&) = delete;
  PageLocks& operator=(const PageLocks&) = delete;

  // Code::no_memory if the limit does not allow it; Code::invalid if the range is pinned already, or is not
  // pinned.
  Status pin(std::span<std::byte> host);
  Status unpin(std::span<std::byte> host);

 private:
  std::mutex mutex_;
  std::map<std::byte*, std::size_t> locked_;  // guarded by mutex_
};

}  // namespace millrace::staging
