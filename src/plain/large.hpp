// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>

#include "plain/calls.hpp"
#include "plain/early.hpp"

namespace millrace::plain {

// A write of at least this size is made in pieces, so that the disk begins before the write ends.
inline constexpr std::size_t large_bytes = 512 << 10;

// True if a write to fd in pieces has the same effect. False with O_APPEND, O_DIRECT or O_SYNC, for files
// that are not regular, and with a limit on file sizes, which sends a signal. May change errno.
bool divisible(const Calls& calls, int fd);

// pwrite of a large request in pieces with early writeback between them. Returns the result of pwrite;
// nullopt: the file is not divisible, and no byte was written.
std::optional<ssize_t> write_large_at(const Calls& calls, EarlyWriteback& early, int fd, const void* data,
                                      std::size_t bytes, off_t at);

// The same at the file's own offset. The function first moves the offset by the whole range, in one step. So
// writers that share the offset get ranges that do not overlap, as with one write. After a short write, the
// function moves the offset back by the missing bytes.
std::optional<ssize_t> write_large(const Calls& calls, EarlyWriteback& early, int fd, const void* data,
                                   std::size_t bytes);

}  // namespace millrace::plain
