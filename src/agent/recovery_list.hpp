// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <span>
#include <string>

#include "base/result.hpp"
#include "io/storage.hpp"

// The parts of millrace-recover that write to no target. Both return the exit status.
namespace millrace::agent {

// A line for each journal below `directory`: what it holds, what its target is by now, and whose it is.
int list_journals(const std::string& directory, io::Storage& storage, std::ostream& out, std::ostream& error);

// Takes these journals away: those below `directory` whose agents have died. Says what was in each.
int discard_journals(const std::string& directory, std::span<const std::string> paths, std::ostream& out,
                     std::ostream& error);

// Why the folder of journals cannot be read.
std::string folder_problem(Status status);

}  // namespace millrace::agent
