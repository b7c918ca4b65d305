// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "staging/pins.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <iterator>

namespace millrace::staging {

Status PageLocks::pin(std::span<std::byte> host) {
  const std::lock_guard lock(mutex_);
  const auto behind = locked_.lower_bound(host.data());
  if (behind != locked_.end() && behind->first < host.data() + host.size()) return Code::invalid;
  if (behind != locked_.begin()) {
    const auto before = std::prev(behind);
    if (before->first + before->second > host.data()) return Code::invalid;
  }
  if (mlock(host.data(), host.size()) != 0) {
    // Each of these errors may mean that the limit is reached. The kernel and the rest of the limit decide
    // which one comes.
    const bool limit = errno == ENOMEM || errno == EAGAIN || errno == EPERM;
    return limit ? Status(Code::no_memory, ENOMEM) : Status::from_errno(errno);
  }
  locked_.emplace(host.data(), host.size());
  return {};
}

Status PageLocks::unpin(std::span<std::byte> host) {
  const std::lock_guard lock(mutex_);
  const auto found = locked_.find(host.data());
  if (found == locked_.end() || found->second != host.size()) return Code::invalid;
  locked_.erase(found);
  return munlock(host.data(), host.size()) == 0 ? Status() : Status::from_errno(errno);
}

}  // namespace millrace::staging
