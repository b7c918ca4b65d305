// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/requests/read_list.hpp"

#include <algorithm>

#include "base/copy.hpp"

namespace millrace::agent {

std::size_t ReadList::gather(Extent extent, const std::byte* data, std::span<std::byte> into) {
  const std::uint32_t first = position();
  std::size_t filled = 0;
  while (!over() && filled < into.size()) {
    const ReadPiece& piece = pieces_[index_];
    const std::uint64_t begin = next();
    if (begin >= extent.end || piece.position + passed_ != first + filled) break;
    const std::uint64_t end =
        std::min({piece.offset + piece.length, extent.end, begin + into.size() - filled});
    const auto size = static_cast<std::uint32_t>(end - begin);
    copy_bytes(into.data() + filled, data + (begin - extent.begin), size);
    filled += size;
    passed_ += size;
    if (passed_ < piece.length) break;
    passed_ = 0;
    ++index_;
  }
  return filled;
}

}  // namespace millrace::agent
