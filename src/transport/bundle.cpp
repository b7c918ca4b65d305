// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/bundle.hpp"

#include <algorithm>
#include <cstring>

namespace millrace::transport {

namespace {

constexpr std::size_t size_bytes = sizeof(std::uint32_t);

std::byte* put_varint(std::byte* at, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) *at++ = static_cast<std::byte>(value | 0x80);
  *at++ = static_cast<std::byte>(value);
  return at;
}

// False: it does not end within the table, or is no number of 64 bits.
bool get_varint(std::span<const std::byte> table, std::size_t& at, std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < 64 && at < table.size(); shift += 7) {
    const auto byte = std::to_integer<std::uint64_t>(table[at++]);
    if (shift == 63 && byte > 1) return false;
    value |= (byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return true;
  }
  return false;
}

std::uint64_t zigzag(std::uint64_t distance) {
  return distance << 1 ^ (static_cast<std::int64_t>(distance) < 0 ? ~std::uint64_t{0} : 0);
}

std::uint64_t unzigzag(std::uint64_t value) { return value >> 1 ^ (~(value & 1) + 1); }

}  // namespace

bool Bundle::add(std::uint64_t offset, std::span<const std::byte> data, std::size_t record_max) {
  const std::size_t most = std::min(record_max, most_bytes);
  if (data.empty() || data.size() > bundled_record_max_bytes ||
      data_bytes_ + data.size() + table_bytes_ + entry_bytes + size_bytes > most)
    return false;
  if (empty()) base_ = end_ = offset;
  std::byte* at = put_varint(table_.data() + table_bytes_, zigzag(offset - end_));
  at = put_varint(at, data.size());
  table_bytes_ = static_cast<std::size_t>(at - table_.data());
  std::memcpy(data_.data() + data_bytes_, data.data(), data.size());
  data_bytes_ += data.size();
  end_ = offset + data.size();
  return true;
}

std::span<const std::byte> Bundle::finish() {
  const auto table_bytes = static_cast<std::uint32_t>(table_bytes_);
  std::memcpy(data_.data() + data_bytes_, table_.data(), table_bytes_);
  std::memcpy(data_.data() + data_bytes_ + table_bytes_, &table_bytes, size_bytes);
  const std::size_t bytes = data_bytes_ + table_bytes_ + size_bytes;
  data_bytes_ = table_bytes_ = 0;
  return {data_.data(), bytes};
}

Unbundler::Found Unbundler::next(std::uint64_t frame_offset, std::span<const std::byte> payload,
                                 Record& record) {
  std::uint32_t table_bytes = 0;
  if (payload.size() < size_bytes) return Found::corrupt;
  std::memcpy(&table_bytes, payload.data() + payload.size() - size_bytes, size_bytes);
  if (table_bytes > payload.size() - size_bytes) return Found::corrupt;
  const std::span<const std::byte> data = payload.first(payload.size() - size_bytes - table_bytes);
  const std::span<const std::byte> table = payload.subspan(data.size(), table_bytes);
  if (at_.table == table.size()) return at_.data == data.size() ? Found::end : Found::corrupt;
  ahead_ = at_;
  std::uint64_t gap = 0, length = 0;
  if (!get_varint(table, ahead_.table, gap) || !get_varint(table, ahead_.table, length))
    return Found::corrupt;
  if (length == 0 || length > data.size() - ahead_.data) return Found::corrupt;
  record = {frame_offset + ahead_.end + unzigzag(gap), data.subspan(ahead_.data, length)};
  ahead_.data += length;
  ahead_.end = record.offset + length - frame_offset;
  return Found::record;
}

}  // namespace millrace::transport
