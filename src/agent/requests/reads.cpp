// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/requests/reads.hpp"

namespace millrace::agent {

namespace {

constexpr std::size_t hand_out_bytes = 256 * KiB;  // at once: one frame of a link

}  // namespace

void Reads::hand_out(Reader& reader, std::span<const LoadedPart> segments, ReadTaker& to) {
  if (bytes_.empty()) bytes_.resize(hand_out_bytes);
  std::uint32_t position = 0;
  std::size_t filled = 0;
  const auto give = [&] {
    if (filled > 0)
      to.wanted(reader.list.sender(), reader.list.request(), position, std::span(bytes_).first(filled));
    counters_.bytes_out += filled;
    filled = 0;
  };
  for (const LoadedPart& segment : segments) {
    while (!reader.list.over() && reader.list.next() >= segment.extent.begin &&
           reader.list.next() < segment.extent.end) {
      const std::uint32_t next = reader.list.position();
      if (filled == bytes_.size() || next != position + filled) give();
      if (filled == 0) position = next;
      filled += reader.list.gather(segment.extent, segment.data, std::span(bytes_).subspan(filled));
    }
  }
  give();
}

}  // namespace millrace::agent
