// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <span>
#include <string>

namespace millrace::journal {

// The program millrace-journal: `arguments` without its name. Prints what a journal file holds and whether it
// is sound. Returns the exit status: 0 sound (a torn tail included), 1 not, 2 wrong use or unreadable file.
int inspect(std::span<const std::string> arguments, std::ostream& out, std::ostream& error);

}  // namespace millrace::journal
