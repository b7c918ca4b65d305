// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace millrace::report {

// Appends `line` and a newline with one write(), so that the lines of several processes stay whole. If `path`
// is a directory, each node has a file NODE.jsonl there. With an empty path, the function writes nothing.
void append_line(const std::string& path, const std::string& line);

// The current time in UTC, for a log: "2026-11-23T17:55:36.123Z".
std::string time_stamp();

}  // namespace millrace::report
