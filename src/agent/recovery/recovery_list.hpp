// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/storage.hpp"

// The parts of millrace-recover that write to no target. Both return the exit status.
namespace millrace::agent {

// Prints a line for each journal below `directory`: its content, the present state of its target, and its
// owner.
int list_journals(const std::string& directory, io::Storage& storage, std::ostream& out, std::ostream& error);

// Takes these journals away: those below `directory` whose agents have died. Says what was in each.
int discard_journals(const std::string& directory, std::span<const std::string> paths, std::ostream& out,
                     std::ostream& error);

// The journals below `directory`. If another user owns the folder: none, and the reason on `error`.
std::optional<std::vector<std::string>> journals_in(const std::string& directory, std::ostream& error);

}  // namespace millrace::agent
