// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/virtual/trace.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/checksum.hpp"

namespace millrace::io {

void Trace::note(std::uint64_t now_ns, std::uint32_t node, const char* what, std::uint64_t a, std::uint64_t b,
                 std::uint64_t c) {
  const std::uint64_t numbers[] = {now_ns, node, a, b, c};
  hash_ = checksum(what, std::strlen(what), hash_);
  hash_ = checksum(numbers, sizeof numbers, hash_);
  ++events_;
  if (!keep_) return;
  char line[160];
  std::snprintf(line, sizeof line, "%14.6f ms  node %" PRIu32 "  %s  %" PRIu64 " %" PRIu64 " %" PRIu64,
                static_cast<double>(now_ns) / 1e6, node, what, a, b, c);
  add(line);
}

void Trace::say(std::uint64_t now_ns, std::uint32_t node, const std::string& text) {
  if (!keep_) return;
  char head[64];
  std::snprintf(head, sizeof head, "%14.6f ms  node %" PRIu32 "  ", static_cast<double>(now_ns) / 1e6, node);
  add(head + text);
}

void Trace::add(std::string line) {
  if (lines_.size() >= most_)
    lines_.erase(lines_.begin(), lines_.begin() + static_cast<std::ptrdiff_t>(most_ / 2));
  lines_.push_back(std::move(line));
}

}  // namespace millrace::io
