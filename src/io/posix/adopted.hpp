// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace millrace::io {

// How a descriptor's writes and reads reach the file: through the page cache, past it in whole blocks of
// direct_alignment, or past it at any alignment (FileSystemType::exact_direct).
enum class Cache : std::uint8_t { used, passed_in_blocks, passed };

// A descriptor as a Storage uses it.
struct Adopted {
  Fd file;
  Cache cache = Cache::used;
};

// Takes a descriptor for Storage::adopt(). On a file system without coherent caches, all transfers pass the
// page cache, if its O_DIRECT is exact. Then a write changes no byte that another node writes, and a read
// finds what other nodes wrote. If such a file cannot be opened so, the function fails: a write through the
// page cache might destroy bytes. With `direct`, transfers pass the page cache in whole blocks, if the file
// system allows that.
Result<Adopted> adopt(Fd file, bool direct);

}  // namespace millrace::io
