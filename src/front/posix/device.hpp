// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstdint>
#include <cstdio>

#include "front/device/door.hpp"

namespace millrace::front {

// Carries out a call of the program on device memory. If `at` is -1, the transfer is at the descriptor's own
// offset. The result and errno are those of the call itself: for a pointer that no device owns, -1 and
// EFAULT.
ssize_t staged_write(int fd, const void* data, size_t bytes, off_t at);
ssize_t staged_read(int fd, void* data, size_t bytes, off_t at);

// Continues a call after the system has moved `done` bytes; -1 means that the system failed with EFAULT.
// Pieces of host and device memory may alternate.
enum class ReadOrWrite : std::uint8_t { read, write };
ssize_t staged_vector(ReadOrWrite way, int fd, const iovec* pieces, int count, off_t at, ssize_t done);

// The same for streams. `PutSome` and `GetSome` move host memory. Items are counted as in libc.
using PutSome = size_t (*)(const void* from, size_t bytes, FILE* to);
using GetSome = size_t (*)(void* into, size_t bytes, FILE* from);
size_t staged_fwrite(const device::Found& found, const void* data, size_t size, size_t count, FILE* stream,
                     PutSome put);
size_t staged_fread(const device::Found& found, void* data, size_t size, size_t count, FILE* stream,
                    GetSome get);

// The hooks' own transfers of host memory, with early writeback and write-behind.
ssize_t write_host(int fd, const void* data, size_t bytes, off_t at);
ssize_t read_host(int fd, void* data, size_t bytes, off_t at);

}  // namespace millrace::front
