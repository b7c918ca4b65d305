// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "agent/core/core.hpp"

namespace millrace::agent {

// Writes spans as Chrome trace events, one per line, into DIRECTORY/millrace-agent-<pid>.json: one lane per
// file and stage. What is written is readable at any time: the array is left open, as the format allows.
// Holds a few hundred lines at most. Not thread safe.
class Trace {
 public:
  Trace() = default;
  explicit Trace(const std::string& directory);

  bool on() const { return !path_.empty(); }
  void add(const std::vector<Span>& spans);
  void flush();

 private:
  int lane(const Span& span);

  std::string path_;
  std::string text_;
  std::map<std::pair<std::string, Stage>, int> lanes_;
};

}  // namespace millrace::agent
