// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "extent/extent.hpp"

// A list of the extents of a file that a rank or an agent wants to read (Kind::want). The extents are
// ascending and do not overlap. The data comes back as one stream, in the order of the list. Extents of one
// length at one distance are one entry:
//
//   | gap, length, more, [hole] | gap, length, more, [hole] | ...
//
// All numbers are varints of 7 bits per byte, low bits first. `gap` is the distance from the end of the
// extent before, or from offset 0. `more` further extents of the same length follow, if any, each behind a
// hole.
namespace millrace::transport {

// The bounds of one list.
inline constexpr std::size_t want_max_bytes = std::size_t{4} << 20;  // of data
inline constexpr std::size_t want_max_extents = std::size_t{16} << 10;
inline constexpr std::size_t want_max_payload = std::size_t{64} << 10;
// Lists on their way through one link. With two, the link goes on while a new list is made.
inline constexpr std::size_t wants_on_a_link = 2;

// An extent behind all bytes of any file. Its bytes are the size of the file, as a number of 64 bits, with
// all earlier records on this way.
inline constexpr Extent size_place{(std::uint64_t{1} << 63) - 1 - sizeof(std::uint64_t),
                                   (std::uint64_t{1} << 63) - 1};

// Makes a payload. Not thread safe.
class WantWriter {
 public:
  explicit WantWriter(std::size_t payload_max) : payload_max_(payload_max) {}

  // Appends an extent that is not empty and begins at or behind the end of the one before. Extents that touch
  // become one. False: the list is full, and is unchanged.
  bool add(Extent extent);
  bool empty() const { return entry_.length == 0; }
  // The number of extents so far, at most.
  std::size_t extents() const { return extents_; }
  // The payload of all extents so far. Then the writer may only be destroyed.
  std::vector<std::byte> finish();

 private:
  struct Entry {
    std::uint64_t begin = 0;
    std::uint64_t length = 0;
    std::uint64_t more = 0;
    std::uint64_t hole = 0;
    std::uint64_t end() const { return begin + more * (length + hole) + length; }
  };
  void put_entry();

  std::size_t payload_max_;
  std::vector<std::byte> payload_;
  Entry entry_;             // the last one, which may still grow
  std::uint64_t last_ = 0;  // the end of the entry before
  std::size_t extents_ = 0;
};

// Reads a payload that is not trusted. False: it is malformed or beyond the bounds.
bool read_want_list(std::span<const std::byte> payload, std::vector<Extent>& extents);

}  // namespace millrace::transport
