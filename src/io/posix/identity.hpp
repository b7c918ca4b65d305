// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/fd.hpp"
#include "base/file_identity.hpp"
#include "base/result.hpp"

namespace millrace::io {

// Of an open file. `for_good`: a journal has to know it again later, so it gets a mark where the file system
// tells neither a birth time nor a handle. The caller may write to it then.
Result<FileIdentity> identify(const Fd& file, bool for_good);
// Of the file that the name means; symbolic links are followed.
Result<FileIdentity> identify(const std::string& path);

// The mark of a file is an extended attribute with a random number, which stays with the file. 0: the file
// system takes none; `unmarked`: the file has none.
std::uint64_t mark_of(const Fd& file);
// Gives the file a mark unless it has one. Returns its mark; 0 if it cannot have one.
std::uint64_t set_mark(const Fd& file);

}  // namespace millrace::io
