// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/rescue.hpp"

#include <span>
#include <vector>

#include "journal/folder.hpp"
#include "transport/bundle.hpp"

namespace millrace::client {

Status rescue(const transport::Producer& ring, const Protected& file, const std::string& directory) {
  std::vector<journal::Piece> pieces;
  ring.each_kept([&](const transport::FrameHeader& frame, const std::byte* at) {
    if (!transport::carries_records(frame.kind) || frame.file != file.file || frame.length == 0) return;
    const std::span<const std::byte> payload(at, frame.length);
    if (frame.kind == transport::Kind::write) return pieces.push_back({frame.offset, payload});
    transport::Unbundler::Record record{};
    for (transport::Unbundler bundle;
         bundle.next(frame.offset, payload, record) == transport::Unbundler::Found::record; bundle.taken())
      pieces.push_back({record.offset, record.data});
  });
  return pieces.empty() ? Status() : journal::save(directory, file.identity, pieces);
}

}  // namespace millrace::client
