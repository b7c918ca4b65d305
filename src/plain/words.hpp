// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace millrace::plain {

// The few settings of this room, read without the parsers of src/base. Those bring a C++ library with
// constructors, which would run in every process. `millrace run` and src/base report wrong values.

// Glob patterns separated by ":", as Settings::posix_async has them. Kept forever.
class Patterns {
 public:
  // Copies `text`. Without memory there are no patterns.
  explicit Patterns(const char* text);
  Patterns(const Patterns&) = delete;
  Patterns& operator=(const Patterns&) = delete;
  ~Patterns();
  bool match(const char* path) const;

 private:
  char* words_;  // one after the other, each ends with a zero; an empty one is the end
};

// "64MiB", "64m", "4096": bytes, within [1 MiB, 1 TiB], or `otherwise`.
std::size_t memory_size(const char* text, std::size_t otherwise);

}  // namespace millrace::plain
