// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace millrace::client {

// Prints one line on stderr, with the prefix "millrace: ". With `once`, a process prints the same text only
// once.
void log(const std::string& line, bool once = true);

// Whether the process began with a standard error. If not, a file of the program may have its number now. The
// first call finds out.
bool stderr_is_open();

}  // namespace millrace::client
