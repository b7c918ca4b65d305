// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/fd.hpp"
#include "base/result.hpp"

namespace millrace::io {

// A second descriptor of the same open file, close-on-exec. An invalid one gives an invalid one.
Result<Fd> duplicate(const Fd& file);

// The same file opened again for writing past the page cache (O_DIRECT), through /proc/self/fd, so that
// no path is looked up. Fails where the file system refuses it (some network and memory file systems).
Result<Fd> reopen_direct(const Fd& file);

// An empty file in memory, for tests; seals and names do not matter.
Result<Fd> memory_file();

}  // namespace millrace::io
