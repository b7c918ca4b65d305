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

// Whether a write to fd is the same thing in pieces: not with O_APPEND, O_DIRECT or O_SYNC, to what is no
// regular file, or where a limit on file sizes says when a signal comes. May change errno.
bool divisible(const Calls& calls, int fd);

// pwrite of a large request in pieces with early writeback between them. Returns what pwrite returns;
// nullopt, and nothing was done, where the file is not divisible.
std::optional<ssize_t> write_large_at(const Calls& calls, EarlyWriteback& early, int fd, const void* data,
                                      std::size_t bytes, off_t at);

// The same at the file's own offset. The range is taken by moving the offset first, in one step: writers that
// share it get ranges that do not overlap, as they do from one write. Short: the offset goes back by what is
// missing.
std::optional<ssize_t> write_large(const Calls& calls, EarlyWriteback& early, int fd, const void* data,
                                   std::size_t bytes);

}  // namespace millrace::plain
