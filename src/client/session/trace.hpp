// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace millrace::client {

// Turns tracing on.
void trace_begin(const std::string& folder);
// Writes the spans to FOLDER/millrace-NODE-PID.json (report/trace_file.hpp). `rank`: the launcher's number.
void trace_end(int rank);

// True from trace_begin() on.
extern bool tracing;

void trace_add(const char* name, std::uint64_t begin_ns, std::uint64_t end_ns, std::uint64_t bytes);
std::uint64_t trace_now();

// Records the time between its construction and its destruction, if tracing is on. `name` is a literal.
class TraceSpan {
 public:
  explicit TraceSpan(const char* name, std::uint64_t bytes = 0)
      : name_(tracing ? name : nullptr), bytes_(bytes), begin_ns_(tracing ? trace_now() : 0) {}
  ~TraceSpan() {
    if (name_ != nullptr) trace_add(name_, begin_ns_, trace_now(), bytes_);
  }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;

 private:
  const char* name_;
  std::uint64_t bytes_;
  std::uint64_t begin_ns_;
};

}  // namespace millrace::client
