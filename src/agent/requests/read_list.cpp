// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/requests/read_list.hpp"

#include <algorithm>

namespace millrace::agent {

void ReadList::gather(Extent extent, const std::byte* data, std::size_t most, std::vector<std::byte>& bytes) {
  std::uint32_t position = this->position();
  while (!over() && most > 0) {
    const ReadPiece& piece = pieces_[index_];
    const std::uint64_t begin = next();
    if (begin >= extent.end || piece.position + passed_ != position) break;
    const std::uint64_t end = std::min({piece.offset + piece.length, extent.end, begin + most});
    const auto size = static_cast<std::uint32_t>(end - begin);
    const std::byte* const from = data + (begin - extent.begin);
    bytes.insert(bytes.end(), from, from + size);
    most -= size;
    position += size;
    passed_ += size;
    if (passed_ < piece.length) break;
    passed_ = 0;
    ++index_;
  }
}

}  // namespace millrace::agent
