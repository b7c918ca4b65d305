// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace millrace::report {

// Appends `line` and a newline with one write(), so that the lines of several processes stay whole. If `path`
// is a directory, each node has a file there: NODE.jsonl. An empty path writes nothing.
void append_line(const std::string& path, const std::string& line);

// "2026-11-23T17:55:36.123Z": the time now, in UTC, for a log.
std::string time_stamp();

}  // namespace millrace::report
