// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "plain/words.hpp"

#include <fnmatch.h>

#include <cstdlib>
#include <cstring>

namespace millrace::plain {
namespace {

bool blank(char c) { return c == ' ' || c == '\t'; }

}  // namespace

Patterns::Patterns(const char* text) : words_(static_cast<char*>(std::calloc(std::strlen(text) + 2, 1))) {
  char* to = words_;
  while (to != nullptr && *text != 0) {
    const std::size_t length = std::strcspn(text, ":");
    std::size_t first = 0, last = length;
    while (first < last && blank(text[first])) ++first;
    while (last > first && blank(text[last - 1])) --last;
    std::memcpy(to, text + first, last - first);
    if (last > first) to += last - first + 1;
    text += length + (text[length] == ':' ? 1 : 0);
  }
}

Patterns::~Patterns() { std::free(words_); }

bool Patterns::match(const char* path) const {
  const char* slash = std::strrchr(path, '/');
  const char* name = slash != nullptr ? slash + 1 : path;
  for (const char* word = words_; word != nullptr && *word != 0; word += std::strlen(word) + 1) {
    if (fnmatch(word, path, 0) == 0) return true;
    if (std::strchr(word, '/') == nullptr && fnmatch(word, name, 0) == 0) return true;
  }
  return false;
}

}  // namespace millrace::plain
