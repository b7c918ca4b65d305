// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>

namespace millrace::journal {

// Prints the content of a journal and whether it is sound, as text or as JSON. Returns the exit status of
// millrace-journal: 0 sound (a torn tail included), 1 not sound, 2 the file cannot be read.
int inspect(const std::string& file, bool json, std::ostream& out, std::ostream& error);

}  // namespace millrace::journal
