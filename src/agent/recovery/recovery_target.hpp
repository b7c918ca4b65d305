// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/fd.hpp"
#include "base/file_identity.hpp"
#include "base/result.hpp"
#include "io/storage.hpp"
#include "journal/format.hpp"

namespace millrace::agent {

// The file that now has the name of a journal's target.
struct Target {
  Result<Fd> file;  // Code::not_found: there is no file of that name
  Sameness sameness = Sameness::unknown;
};

// Opens the target by its name, for writing or only for reading.
Target find_target(io::Storage& storage, const journal::FileHeader& header, bool writes);

// The reason why recovery does not write to the target, and what the user can do; empty if it writes.
std::string refusal(const Target& target, const std::string& name);

}  // namespace millrace::agent
