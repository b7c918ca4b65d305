// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/copy.hpp"

// A bundle is many small records in the payload of one frame (Kind::records), on a link and in a ring. A
// header and a checksum for each record would cost more than the record itself:
//
//   | gap, length, data | gap, length, data | ...
//
// Gaps and lengths are varints of 7 bits per byte, low bits first. A gap is the distance from the end of the
// previous record to the begin of this one. The first gap counts from the frame's offset. Gaps are in zigzag
// order: 0, -1, 1, -2, ...
namespace millrace::transport {

inline constexpr std::size_t bundled_record_max_bytes = 2048;  // a larger record has its own frame
inline constexpr std::size_t bundle_max_bytes = 16384;         // of a payload
inline constexpr std::size_t bundle_entry_bytes = 10 + 2;      // the most bytes of a record besides its data

// Writes a payload into the caller's memory. Not thread safe.
class BundleWriter {
 public:
  BundleWriter() = default;
  // `room` is the number of bytes at `begin`.
  BundleWriter(std::byte* begin, std::size_t room) : begin_(begin), at_(begin), end_(begin + room) {}

  // False if there is no room for the record. `size` is between 1 and bundled_record_max_bytes.
  bool add(std::uint64_t offset, const std::byte* data, std::size_t size) {
    if (static_cast<std::size_t>(end_ - at_) < size + bundle_entry_bytes) return false;
    if (at_ == begin_) offset_ = next_ = offset;
    const std::uint64_t distance = offset - next_;
    put(distance << 1 ^ (static_cast<std::int64_t>(distance) < 0 ? ~std::uint64_t{0} : 0));
    put(size);
    copy_bytes(at_, data, size);
    at_ += size;
    next_ = offset + size;
    return true;
  }
  bool empty() const { return at_ == begin_; }
  std::uint64_t offset() const { return offset_; }  // for the frame
  std::uint32_t bytes() const { return static_cast<std::uint32_t>(at_ - begin_); }

 private:
  void put(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) *at_++ = static_cast<std::byte>(value | 0x80);
    *at_++ = static_cast<std::byte>(value);
  }

  std::byte* begin_ = nullptr;
  std::byte* at_ = nullptr;
  std::byte* end_ = nullptr;
  std::uint64_t offset_ = 0;
  std::uint64_t next_ = 0;  // end of the last record
};

// A payload and its memory. Not thread safe.
class Bundle {
 public:
  // `record_max` is the largest payload, at least 4096.
  explicit Bundle(std::size_t record_max)
      : room_(record_max < bundle_max_bytes ? record_max : bundle_max_bytes), writer_(bytes_.data(), room_) {}
  Bundle(const Bundle&) = delete;
  Bundle& operator=(const Bundle&) = delete;

  // False if the bundle is full, or if the record is empty or too large for a bundle.
  bool add(std::uint64_t offset, std::span<const std::byte> data) {
    return !data.empty() && data.size() <= bundled_record_max_bytes &&
           writer_.add(offset, data.data(), data.size());
  }
  bool empty() const { return writer_.empty(); }
  std::uint64_t offset() const { return writer_.offset(); }  // for the frame
  std::span<const std::byte> payload() const { return {bytes_.data(), writer_.bytes()}; }
  void clear() { writer_ = {bytes_.data(), room_}; }

 private:
  std::size_t room_;
  std::array<std::byte, bundle_max_bytes> bytes_;
  BundleWriter writer_;
};

// Splits a payload into records. The payload may be malformed, and its writer may still change it. The caller
// may stop in the middle and continue later, because the object keeps no pointer.
class Unbundler {
 public:
  struct Unbundled {
    std::uint64_t offset;  // at most UINT64_MAX / 2
    std::span<const std::byte> data;
  };
  enum class Found { record, end, corrupt };

  // The next record of `payload`; the frame's offset is at most UINT64_MAX / 2. Both arguments must be the
  // same in every call. Otherwise the records are arbitrary parts of the payload.
  Found next(std::uint64_t frame_offset, std::span<const std::byte> payload, Unbundled& record) {
    if (at_.byte >= payload.size()) return at_.byte == payload.size() ? Found::end : Found::corrupt;
    std::uint64_t gap = 0, length = 0;
    ahead_ = at_;
    if (!get(payload, gap) || !get(payload, length)) return Found::corrupt;
    if (length == 0 || length > payload.size() - ahead_.byte) return Found::corrupt;
    const std::uint64_t offset = frame_offset + ahead_.end + (gap >> 1 ^ (~(gap & 1) + 1));
    if (offset > UINT64_MAX / 2) return Found::corrupt;
    record = {offset, payload.subspan(ahead_.byte, length)};
    ahead_.byte += length;
    ahead_.end = offset + length - frame_offset;
    return Found::record;
  }
  void taken() { at_ = ahead_; }
  bool begun() const { return at_.byte != 0; }

 private:
  struct DecodePosition {
    std::size_t byte = 0;   // of the payload
    std::uint64_t end = 0;  // of the last record, from the frame's offset
  };

  // False if the number does not end within the payload, or needs more than 64 bits.
  bool get(std::span<const std::byte> payload, std::uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 64 && ahead_.byte < payload.size(); shift += 7) {
      const auto byte = std::to_integer<std::uint64_t>(payload[ahead_.byte++]);
      if (shift == 63 && byte > 1) return false;
      value |= (byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return true;
    }
    return false;
  }

  DecodePosition at_;     // behind the last record that was taken
  DecodePosition ahead_;  // behind the record that next() has returned
};

}  // namespace millrace::transport
