// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "agent/core/core.hpp"
#include "report/trace_file.hpp"

namespace millrace::agent {

// Writes the spans of Core to a trace file: one row for each file and phase. Not thread safe.
class SpanTrace {
 public:
  // A trace that is off.
  SpanTrace() = default;
  explicit SpanTrace(const std::string& directory) : file_(directory, "millrace-agent", "agent") {}

  bool on() const { return file_.on(); }
  void add(const std::vector<Span>& spans);
  void flush() { file_.flush(); }

 private:
  int row(const Span& span);

  report::TraceFile file_;
  std::map<std::pair<std::string, Phase>, int> rows_;
};

}  // namespace millrace::agent
