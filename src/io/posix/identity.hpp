// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/fd.hpp"
#include "base/file_identity.hpp"
#include "base/result.hpp"

namespace millrace::io {

// The identity of an open file. `for_good`: a journal has to recognise the file later. So the file gets a
// mark if its file system tells neither a birth time nor a handle. The caller must have the right to write to
// it.
Result<FileIdentity> identify(const Fd& file, bool for_good);
// The identity of the file of a name; symbolic links are followed.
Result<FileIdentity> identify(const std::string& path);

// The mark of a file is an extended attribute with a random number, which stays with the file. 0: the file
// system supports none; `unmarked`: the file has none.
std::uint64_t mark_of(const Fd& file);
// Gives the file a mark unless it has one. Returns its mark; 0 if it cannot have one.
std::uint64_t set_mark(const Fd& file);

}  // namespace millrace::io
