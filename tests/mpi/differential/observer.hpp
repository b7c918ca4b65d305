// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

// Everything that a rank sees in a case, as one number; and, if asked, as lines to read.
class Observer {
 public:
  Observer(int rank, bool verbose) : rank_(rank), verbose_(verbose) {}

  void note(const char* what, std::int64_t value) {
    mix(&value, sizeof value);
    if (verbose_) std::fprintf(stderr, "rank %d %s %lld\n", rank_, what, static_cast<long long>(value));
  }
  void bytes(const char* what, const void* data, std::size_t size) {
    mix(data, size);
    if (verbose_)
      std::fprintf(stderr, "rank %d %s %zu bytes -> %016llx\n", rank_, what, size,
                   static_cast<unsigned long long>(digest_));
  }
  // For the reader only.
  void say(const std::string& text) const {
    if (verbose_) std::fprintf(stderr, "rank %d %s\n", rank_, text.c_str());
  }
  std::uint64_t digest() const { return digest_; }

 private:
  void mix(const void* data, std::size_t size) {  // FNV-1a
    const auto* byte = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < size; ++i) digest_ = (digest_ ^ byte[i]) * 0x100000001b3ull;
  }

  int rank_;
  bool verbose_;
  std::uint64_t digest_ = 0xcbf29ce484222325ull;
};
