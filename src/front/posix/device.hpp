// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstdint>
#include <cstdio>

#include "front/device/door.hpp"

namespace millrace::front {

// Carries out a call of the program on device memory; `at` -1: at the descriptor's own offset. Outcomes are
// those of the call itself. If the pointer is not a device's: -1 and EFAULT, as from the system.
ssize_t staged_write(int fd, const void* data, size_t bytes, off_t at);
ssize_t staged_read(int fd, void* data, size_t bytes, off_t at);

// Continues after the system has moved `done` bytes (-1: EFAULT). Pieces of both kinds of memory may
// alternate.
enum class Way : std::uint8_t { read, write };
ssize_t staged_vector(Way way, int fd, const iovec* pieces, int count, off_t at, ssize_t done);

// The same for streams, by functions that do it with host memory. Items are counted as libc does.
using PutSome = size_t (*)(const void* from, size_t bytes, FILE* to);
using GetSome = size_t (*)(void* into, size_t bytes, FILE* from);
size_t staged_fwrite(const device::Found& found, const void* data, size_t size, size_t count, FILE* stream,
                     PutSome put);
size_t staged_fread(const device::Found& found, void* data, size_t size, size_t count, FILE* stream,
                    GetSome get);

// Transfers of host memory as the hooks make them, with early writeback and write-behind.
ssize_t write_host(int fd, const void* data, size_t bytes, off_t at);
ssize_t read_host(int fd, void* data, size_t bytes, off_t at);

}  // namespace millrace::front
