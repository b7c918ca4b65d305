// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <random>

namespace millrace::sim {

// Random numbers for a scenario, from one seed. They are the same on every machine.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed * 0x9E3779B97F4A7C15u + 1) {}
  std::uint64_t below(std::uint64_t bound) { return bound == 0 ? 0 : random_() % bound; }
  std::uint64_t between(std::uint64_t least, std::uint64_t most) { return least + below(most - least + 1); }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  template <class T>
  T pick(std::initializer_list<T> choices) {
    return choices.begin()[below(choices.size())];
  }
  // Each order of magnitude is about as likely as the next: small numbers are as frequent as large ones.
  std::uint64_t magnitude(std::uint64_t least, std::uint64_t most) {
    std::uint64_t top = least;
    while (top < most && !one_in(4)) top *= 4;
    return between(least, std::min(std::max(top, least), most));
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace millrace::sim
