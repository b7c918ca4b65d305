// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace millrace::io {

// Makes a second descriptor of the same open file, close-on-exec. An invalid descriptor gives an invalid Fd.
Result<Fd> duplicate(int file);
inline Result<Fd> duplicate(const Fd& file) { return duplicate(file.get()); }

// Opens the same file again for writing past the page cache (O_DIRECT). Opens it through /proc/self/fd, so
// that its path may have changed. Fails if the file system refuses O_DIRECT, as some network and memory file
// systems do, or needs another alignment than direct_alignment.
Result<Fd> reopen_direct(const Fd& file);

// Opens the file of a descriptor again, for reading.
Result<Fd> open_to_read_again(const Fd& file);

// Fills `into` from `offset` on. Blocks. Returns the number of bytes, which is smaller at the end of the
// file.
Result<std::size_t> read_at(const Fd& file, std::uint64_t offset, std::span<std::byte> into);

Result<std::uint64_t> size_of(const Fd& file);
Status resize(const Fd& file, std::uint64_t bytes);

// The bytes that an ordinary user can still write to the file's file system.
Result<std::uint64_t> free_bytes(const Fd& file);

// Reserves room for these bytes of the file, without changing its size. Code::unsupported: the file system
// cannot reserve room.
Status reserve(const Fd& file, std::uint64_t offset, std::uint64_t bytes);

// Opens a file for reading. Does not wait for a writer of a FIFO.
Result<Fd> open_to_read(const char* path);

// Opens an existing file for reading and writing. Does not wait for a reader of a FIFO.
Result<Fd> open_to_change(const char* path);

}  // namespace millrace::io
