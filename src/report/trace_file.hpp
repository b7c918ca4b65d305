// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "report/json.hpp"

namespace millrace::report {

// Writes Chrome trace events, one per line, as an array without its end. The format allows a missing end, so
// a reader can open the file at any time. The file's name is DIRECTORY/PREFIX-NODE-PID.json. The object keeps
// at most 64 KiB of text between two writes. Not thread safe.
class TraceFile {
 public:
  // Such an object writes no file.
  TraceFile() = default;
  TraceFile(const std::string& directory, std::string_view prefix, std::string_view process_name);

  bool on() const { return !path_.empty(); }
  // Names a row in the viewer's picture of the process.
  void name_row(int row, std::string_view name);
  void span(int row, std::string_view name, std::uint64_t begin_ns, std::uint64_t end_ns,
            const JsonObject& details);
  // Adds a fact about the whole process.
  void fact(std::string_view name, const JsonObject& details);
  void flush();

 private:
  void meta(std::string_view what, int row, const JsonObject& details);
  void line(const JsonObject& event);

  std::string path_;
  std::string text_;
};

}  // namespace millrace::report
