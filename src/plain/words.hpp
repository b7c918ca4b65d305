// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace millrace::plain {

// Reads the few settings of this room without the parsers of src/base. Those parsers need a C++ library with
// constructors, which would run in every process. `millrace run` and src/base report wrong values.

// Glob patterns separated by ":", as in Settings::posix_async. The process keeps them until its end.
class Patterns {
 public:
  // Copies `text`. Without memory there are no patterns.
  explicit Patterns(const char* text);
  Patterns(const Patterns&) = delete;
  Patterns& operator=(const Patterns&) = delete;
  ~Patterns();
  bool match(const char* path) const;

 private:
  char* words_;  // the patterns in a row, each with a final zero; an empty one is the end
};

// Reads a size such as "64MiB", "64m" or "4194304", in bytes. Returns `otherwise` if the text is no size in
// [1 MiB, 1 TiB].
std::size_t memory_size(const char* text, std::size_t otherwise);

}  // namespace millrace::plain
