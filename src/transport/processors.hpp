// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

namespace millrace::transport {

// A set of a node's processors, as on the wire.
struct Processors {
  static constexpr std::size_t most = 1024;
  std::array<std::uint64_t, most / 64> bits{};

  static Processors all() {
    Processors made;
    made.bits.fill(UINT64_MAX);
    return made;
  }
  std::size_t count() const {
    std::size_t sum = 0;
    for (const std::uint64_t word : bits) sum += static_cast<std::size_t>(std::popcount(word));
    return sum;
  }
  void add(std::size_t one) { bits[one / 64] |= std::uint64_t{1} << one % 64; }
  bool has(std::size_t one) const { return (bits[one / 64] >> one % 64 & 1) != 0; }
  bool empty() const { return *this == Processors{}; }

  Processors& operator|=(const Processors& other) {
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] |= other.bits[i];
    return *this;
  }
  Processors& operator&=(const Processors& other) {
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] &= other.bits[i];
    return *this;
  }
  Processors without(const Processors& other) const {
    Processors rest;
    for (std::size_t i = 0; i < bits.size(); ++i) rest.bits[i] = bits[i] & ~other.bits[i];
    return rest;
  }
  friend bool operator==(const Processors&, const Processors&) = default;

  // As the kernel writes such lists: "0-3,8".
  std::string text() const {
    std::string list;
    for (std::size_t one = 0; one < most; ++one) {
      if (!has(one)) continue;
      std::size_t last = one;
      while (last + 1 < most && has(last + 1)) ++last;
      list += (list.empty() ? "" : ",") + std::to_string(one);
      if (last > one) list += "-" + std::to_string(last);
      one = last;
    }
    return list;
  }
};

}  // namespace millrace::transport
