// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace bench {

// The content of every file that these programs write: the 8-byte word number w of the file, in the machine's
// byte order, is start(seed) + w * step. Every word of a file differs, so data that is in the wrong place, or
// from another seed, cannot pass for right. It costs an addition per word and so hardly shows in a
// measurement.

// Fills [data, data + size) with the content of file bytes [offset, offset + size).
void fill(void* data, std::size_t size, std::uint64_t offset, std::uint64_t seed);

// Makes the file of `bytes` bytes. Throws std::runtime_error if that fails.
void make_file(const std::string& path, std::uint64_t bytes, std::uint64_t seed);

inline constexpr std::size_t no_mismatch = ~std::size_t{0};

// Index of the first byte of data that is not the content of file bytes [offset, offset + size).
std::size_t mismatch(const void* data, std::size_t size, std::uint64_t offset, std::uint64_t seed);

// One word of the content: for programs whose unit is a value and not a piece of a file.
std::uint64_t word(std::uint64_t index, std::uint64_t seed);

// Outcome of reading a file with plain system calls and comparing it.
struct FileCheck {
  bool ok = true;
  char message[256] = "";  // the first thing that is wrong
};

// Checks bytes [begin, end) of the file at `path`. A file that is too short is a mismatch.
FileCheck check_file(const char* path, std::uint64_t begin, std::uint64_t end, std::uint64_t seed);

}  // namespace bench
