// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "io/storage.hpp"

// The parts of millrace-recover that write to no target.
namespace millrace::agent {

// Prints a line for each journal below `directory`: its content, the present state of its target, and whether
// its owner lives. Returns the exit status.
int list_journals(const std::string& directory, io::Storage& storage, std::ostream& out, std::ostream& error);

// Removes these journals if they are below `directory` and no living process needs them. Prints the content
// of each. Returns the exit status.
int discard_journals(const std::string& directory, std::span<const std::string> paths, std::ostream& out,
                     std::ostream& error);

// Names other folders of the user below `directory` that have journals: those of other machines, or of this
// one under an earlier name. True if there are any.
bool tell_of_others(const std::string& directory, std::ostream& error);

// The reason why a journal whose lock could not be taken is left alone (Code::unsupported).
std::string no_lock(Status refused);

// The journals below `directory`. If the folder cannot be used, returns nothing and prints the reason to
// `error`.
std::optional<std::vector<std::string>> journals_in(const std::string& directory, std::ostream& error);

}  // namespace millrace::agent
