// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/fd.hpp"
#include "base/file_identity.hpp"
#include "base/result.hpp"

namespace millrace::io {

// The identity of an open file. `for_good`: a journal must recognise the file later. So if the file system
// has neither birth times nor handles, the file gets a mark. For this, the caller must have the right to
// write to the file.
Result<FileIdentity> identify(const Fd& file, bool for_good);
// The same without a mark. Asks no server.
Result<FileIdentity> recognise(const Fd& file);
// The identity of the file at a path. Follows symbolic links.
Result<FileIdentity> identify(const std::string& path);

// The state of an open file. A network file system writes the client's cache back first.
Result<FileState> state_of(const Fd& file);
Result<FileState> state_of(int file);

// The mark of a file: a random number in an extended attribute, which stays with the file. 0: the file system
// has no such attributes. `unmarked`: the file has no mark.
std::uint64_t mark_of(const Fd& file);
// Gives the file a mark unless it has one. Returns the mark, or 0 if the file cannot have one.
std::uint64_t set_mark(const Fd& file);

}  // namespace millrace::io
