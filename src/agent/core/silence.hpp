// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace millrace::agent {

// Measures for how long the storage has completed none of a file's requests. Not thread safe.
class Silence {
 public:
  // Called in every round. `busy`: requests of the file are with the storage. `completions`: so far.
  void look(std::uint64_t now_ns, bool busy, std::uint64_t completions) {
    if (!busy || completions != completions_ || since_ns_ == 0) since_ns_ = now_ns;
    completions_ = completions;
    now_ns_ = now_ns;
  }
  std::uint64_t ns() const { return now_ns_ - since_ns_; }

 private:
  std::uint64_t since_ns_ = 0;
  std::uint64_t now_ns_ = 0;
  std::uint64_t completions_ = 0;
};

}  // namespace millrace::agent
