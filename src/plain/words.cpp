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

std::size_t memory_size(const char* text, std::size_t otherwise) {
  if (text == nullptr) return otherwise;
  char* unit = nullptr;
  const unsigned long long number = std::strtoull(text, &unit, 10);
  constexpr char units[] = "kmgt";
  unsigned shift = 0;
  while (blank(*unit)) ++unit;
  if (*unit != 0 && *unit != 'b' && *unit != 'B') {
    const char* known = std::strchr(units, *unit | 0x20);
    if (known == nullptr) return otherwise;
    shift = 10 * static_cast<unsigned>(known - units + 1);
  }
  if (unit == text || number > (1ULL << 40 >> shift) || number << shift < (1ULL << 20)) return otherwise;
  return static_cast<std::size_t>(number << shift);
}

}  // namespace millrace::plain
