// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

// Many small records in the payload of one frame (Kind::records), for which a header each would be a burden
// on the link:
//
//   | data of all records, without gaps | table: gap, length; gap, length; ... | bytes of the table, u32 |
//
// Gaps and lengths are varints of 7 bits per byte, low bits first. A gap is the distance from the end of the
// record before (of the first: from the frame's offset) to the begin of this one, zigzag: 0, -1, 1, -2, ...
namespace millrace::transport {

inline constexpr std::size_t bundled_record_max_bytes = 2048;  // a larger one goes by itself

// Owns its buffer. Not thread safe.
class Bundle {
 public:
  // False: it is full, or the record too large. `record_max`: of the payload, at least 4096.
  bool add(std::uint64_t offset, std::span<const std::byte> data, std::size_t record_max);
  bool empty() const { return data_bytes_ == 0; }
  std::uint64_t offset() const { return base_; }  // for the frame
  // The payload; valid until the next call.
  std::span<const std::byte> finish();

 private:
  static constexpr std::size_t most_bytes = 16384;
  static constexpr std::size_t entry_bytes = 10 + 2;  // at most

  std::array<std::byte, most_bytes> data_;
  std::array<std::byte, most_bytes> table_;
  std::size_t data_bytes_ = 0;
  std::size_t table_bytes_ = 0;
  std::uint64_t base_ = 0;
  std::uint64_t end_ = 0;  // of the last record
};

// Takes a payload apart that anybody may have written. May be left in the middle and gone on with later: it
// keeps no pointer.
class Unbundler {
 public:
  struct Record {
    std::uint64_t offset;
    std::span<const std::byte> data;
  };
  enum class Found { record, end, corrupt };

  // The next record of `payload`, which has to be the same every time.
  Found next(std::uint64_t frame_offset, std::span<const std::byte> payload, Record& record);
  void taken() { at_ = ahead_; }
  bool begun() const { return at_.table != 0; }

 private:
  struct Place {
    std::size_t data = 0;
    std::size_t table = 0;
    std::uint64_t end = 0;  // of the last record, from the frame's offset
  };
  Place at_;     // behind what was taken
  Place ahead_;  // ... and behind the record that next() has shown
};

}  // namespace millrace::transport
