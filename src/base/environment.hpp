// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fnmatch.h>
#include <strings.h>

#include <cstdlib>
#include <cstring>
#include <initializer_list>

// Preloaded libraries read these settings before anything else has run, or in signal handlers. So the
// functions need libc alone.
namespace millrace {

// True if the user turns Millrace off.
inline bool turned_off() {
  const char* const text = std::getenv("MILLRACE");
  for (const char* const word : {"0", "no", "false", "off"}) {
    if (text != nullptr && ::strcasecmp(text, word) == 0) return true;
  }
  return false;
}

// "*" also matches "/". A pattern without "/" also matches the last component.
inline bool pattern_matches(const char* pattern, const char* path) {
  if (::fnmatch(pattern, path, 0) == 0) return true;
  const char* const slash = std::strrchr(path, '/');
  return std::strchr(pattern, '/') == nullptr && slash != nullptr && ::fnmatch(pattern, slash + 1, 0) == 0;
}

// The same for patterns separated by ":". A pattern too long for a path matches nothing.
inline bool any_pattern_matches(const char* patterns, const char* path) {
  char pattern[4096];
  for (const char* next = nullptr; patterns != nullptr; patterns = next) {
    next = std::strchr(patterns, ':');
    next += next != nullptr ? 1 : 0;
    patterns += std::strspn(patterns, " \t\r\n");
    std::size_t length = std::strcspn(patterns, ":");
    while (length > 0 && std::strchr(" \t\r\n", patterns[length - 1]) != nullptr) --length;
    if (length == 0 || length >= sizeof pattern) continue;
    std::memcpy(pattern, patterns, length);
    pattern[length] = 0;
    if (pattern_matches(pattern, path)) return true;
  }
  return false;
}

}  // namespace millrace
