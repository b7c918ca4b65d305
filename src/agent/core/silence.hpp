// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace millrace::agent {

// The requests of a file that one file system has or has completed.
struct Load {
  bool busy = false;              // it has some
  std::uint64_t completions = 0;  // so far

  void add(bool has_some, std::uint64_t completed) {
    busy |= has_some;
    completions += completed;
  }
};

// Measures for how long a file system has completed none of a file's requests. Not thread safe.
class Silence {
 public:
  // Called in every round.
  void look(std::uint64_t now_ns, const Load& load) {
    if (!load.busy || load.completions != completions_ || since_ns_ == 0) since_ns_ = now_ns;
    completions_ = load.completions;
    now_ns_ = now_ns;
  }
  std::uint64_t ns() const { return now_ns_ - since_ns_; }

 private:
  std::uint64_t since_ns_ = 0;
  std::uint64_t now_ns_ = 0;
  std::uint64_t completions_ = 0;
};

}  // namespace millrace::agent
