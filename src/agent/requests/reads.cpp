// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/requests/reads.hpp"

namespace millrace::agent {

namespace {

constexpr std::size_t hand_out_bytes = 256 * KiB;  // at once: one frame of a link

}  // namespace

void Reads::hand_out(Reader& reader, std::span<const Segment> segments, FetchTaker& to) {
  std::uint32_t position = 0;
  const auto give = [&] {
    if (!bytes_.empty()) to.wanted(reader.list.sender(), reader.list.request(), position, bytes_);
    counters_.bytes_out += bytes_.size();
    bytes_.clear();
  };
  for (const Segment& segment : segments) {
    while (!reader.list.over() && reader.list.next() >= segment.extent.begin &&
           reader.list.next() < segment.extent.end) {
      const std::uint32_t next = reader.list.position();
      if (bytes_.size() == hand_out_bytes || next != position + bytes_.size()) give();
      if (bytes_.empty()) position = next;
      reader.list.gather(segment.extent, segment.data, hand_out_bytes - bytes_.size(), bytes_);
    }
  }
  give();
}

}  // namespace millrace::agent
