// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace millrace::io {

// The events of a run in their order: as a hash, to compare two runs, and in words on request. The events
// must not depend on addresses, process ids or secrets. Not thread safe.
class Trace {
 public:
  // `keep`: keeps words too, but only the last `most` lines, because a run may be long.
  explicit Trace(bool keep = false, std::size_t most = 1'000'000) : keep_(keep), most_(most) {}

  // `what` is a few words that end with the names of `a`, `b` and `c`: "write offset length".
  void note(std::uint64_t now_ns, std::uint32_t node, const char* what, std::uint64_t a = 0,
            std::uint64_t b = 0, std::uint64_t c = 0);

  // Adds words without changing the hash. They may differ between machines, like the system's messages.
  void say(std::uint64_t now_ns, std::uint32_t node, const std::string& text);

  std::uint64_t hash() const { return hash_; }
  std::uint64_t events() const { return events_; }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  void add(std::string line);

  bool keep_;
  std::size_t most_;
  std::uint64_t hash_ = 0;
  std::uint64_t events_ = 0;
  std::vector<std::string> lines_;
};

}  // namespace millrace::io
