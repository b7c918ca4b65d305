// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/want_list.hpp"

#include <array>

namespace millrace::transport {

namespace {

constexpr std::size_t entry_max_bytes = 4 * 10;
constexpr std::uint64_t offset_max = UINT64_MAX / 2;

constexpr std::size_t entry_usual_bytes = 4;

// A payload that is read number by number.
class Numbers {
 public:
  explicit Numbers(std::span<const std::byte> payload) : at_(payload.data()), end_(at_ + payload.size()) {}
  bool empty() const { return at_ == end_; }
  // False: the number is malformed.
  bool get(std::uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 63 && at_ != end_; shift += 7) {
      const auto byte = std::to_integer<std::uint64_t>(*at_++);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

 private:
  const std::byte* at_;
  const std::byte* end_;
};

std::byte* put(std::uint64_t value, std::byte* to) {
  for (; value >= 0x80; value >>= 7) *to++ = static_cast<std::byte>(value | 0x80);
  *to++ = static_cast<std::byte>(value);
  return to;
}

}  // namespace

bool WantWriter::add(Extent extent) {
  const bool first = empty();
  if (!first && entry_.more == 0 && entry_.end() == extent.begin) {
    entry_.length += extent.size();
    return true;
  }
  if (extents_ == want_max_extents) return false;
  const std::uint64_t hole = first ? 0 : extent.begin - entry_.end();
  const bool same = !first && extent.size() == entry_.length && hole > 0;
  if (same && (entry_.more == 0 || hole == entry_.hole)) {
    ++entry_.more;
    entry_.hole = hole;
  } else {
    if (payload_.size() + 2 * entry_max_bytes > payload_max_) return false;
    if (!first) put_entry();
    entry_ = {extent.begin, extent.size()};
  }
  ++extents_;
  return true;
}

std::vector<std::byte> WantWriter::finish() {
  if (!empty()) put_entry();
  return std::move(payload_);
}

void WantWriter::put_entry() {
  std::array<std::byte, entry_max_bytes> entry;
  std::byte* end = put(entry_.begin - last_, entry.data());
  end = put(entry_.length, end);
  end = put(entry_.more, end);
  if (entry_.more > 0) end = put(entry_.hole, end);
  payload_.insert(payload_.end(), entry.data(), end);
  last_ = entry_.end();
}

bool read_want_list(std::span<const std::byte> payload, std::vector<Extent>& extents) {
  extents.clear();
  extents.reserve(payload.size() / entry_usual_bytes);
  std::uint64_t at = 0;
  std::uint64_t bytes = 0;
  for (Numbers numbers(payload); !numbers.empty();) {
    std::uint64_t gap = 0, length = 0, more = 0, hole = 0;
    if (!numbers.get(gap) || !numbers.get(length) || !numbers.get(more)) return false;
    if (more > 0 && (!numbers.get(hole) || hole > offset_max)) return false;
    if (gap > offset_max - at || length == 0 || length > want_max_bytes) return false;
    if (more >= want_max_extents - extents.size()) return false;
    at += gap;
    for (std::uint64_t i = 0; i <= more; ++i) {
      if (i > 0 && hole > offset_max - at) return false;
      at += i > 0 ? hole : 0;
      bytes += length;
      if (bytes > want_max_bytes || length > offset_max - at) return false;
      extents.push_back({at, at + length});
      at += length;
    }
  }
  return !extents.empty();
}

}  // namespace millrace::transport
