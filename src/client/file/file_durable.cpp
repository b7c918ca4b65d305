// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0

// How an open file brings the MPI library's own writes to the disk.
#include <fcntl.h>

#include <cerrno>
#include <mutex>

#include "client/file/opened_file.hpp"

namespace millrace::client {

// The kernel reports an error in writeback to every descriptor that was open then, and to only one that was
// opened later. So the descriptor that close syncs has to be older than the writes.
void OpenedFile::hold_for_sync() {
  if (held_for_sync_.load(std::memory_order_acquire)) return;
  if (!ends_on_disk(request_.settings) || !request_.writable || process_.is_child()) return;
  const std::lock_guard lock(enroll_mutex_);
  if (!target_.holds_open() && !target_.hold_open(O_RDWR)) (void)target_.hold_open(O_WRONLY);
  held_for_sync_.store(true, std::memory_order_release);
}

// With durability disk or node, the agent syncs its own writes. This function syncs the writes of the MPI
// library.
Status OpenedFile::make_durable() {
  if (!ends_on_disk(request_.settings) || !request_.writable || !counts().any_by_library()) return {};
  if (target_.holds_open()) return process_.datasync(target_.held());
  const Fd file = target_.open_again(O_RDONLY);
  if (!file.valid() && errno == ENOENT) {
    process_.say(request_.path +
                 " is gone or has another name: bytes that the MPI library wrote may not be on the disk");
    return {};
  }
  if (!file.valid()) return Status::from_errno(errno);
  return process_.datasync(file);
}

}  // namespace millrace::client
