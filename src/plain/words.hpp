// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace millrace::plain {

// Reads the patterns of this room without the parsers of src/base. Those parsers need a C++ library with
// constructors, which would run in every process.

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

}  // namespace millrace::plain
