// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/fd.hpp"
#include "base/file_identity.hpp"
#include "base/result.hpp"
#include "io/storage.hpp"
#include "journal/format.hpp"

namespace millrace::agent {

// The file that is a journal's target now.
struct RecoveryTarget {
  Result<Fd> file;  // Code::not_found: there is no such file
  Sameness sameness = Sameness::unknown;
  std::string name = {};  // its name now
};

// Opens the target, for writing or only for reading. A file that has been renamed within its folder is found
// by its inode number. `given`: the name that the caller knows; empty: that of the header.
RecoveryTarget find_target(io::Storage& storage, const journal::FileHeader& header, bool writes,
                           const std::string& given = {});

// Whether the open file is the target of that header.
Sameness sameness_of(io::Storage& storage, const Fd& file, const journal::FileHeader& header);

// The reason why recovery does not write to the target, and what the user can do; empty if it writes.
std::string refusal(const RecoveryTarget& target);

// A log, as far as it tells who may have written to its target.
struct Left {
  const journal::FileHeader& header;
  const journal::StateSector& sector;
  std::uint64_t alive_ns;  // journal::alive_ns()
};

// True if somebody may have written to the target after the life of the log's owner, so that the log's
// records may be older than the target's bytes. `boot`: the kernel's boot now.
bool changed_since(const Left& log, const FileState& target, std::uint64_t boot);

}  // namespace millrace::agent
