// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>

#include "plain/calls.hpp"
#include "plain/early.hpp"

namespace millrace::plain {

// From this size on a write is done in pieces, so that the disk begins before its end.
inline constexpr std::size_t large_bytes = 512 << 10;

// True if a write to fd in pieces has the same effect. That is false with O_APPEND, O_DIRECT or O_SYNC, for
// other than regular files, and with a limit on file sizes, which sends a signal. May change errno.
bool divisible(const Calls& calls, int fd);

// pwrite of a large request in pieces with early writeback between them. Returns the result of pwrite;
// nullopt if the file is not divisible, and nothing was done.
std::optional<ssize_t> write_large_at(const Calls& calls, EarlyWriteback& early, int fd, const void* data,
                                      std::size_t bytes, off_t at);

// The same at the file's own offset. One step moves the offset by the whole range first. So writers that
// share the offset get ranges that do not overlap, as from one write. After a short write, the offset goes
// back by the missing bytes.
std::optional<ssize_t> write_large(const Calls& calls, EarlyWriteback& early, int fd, const void* data,
                                   std::size_t bytes);

}  // namespace millrace::plain
