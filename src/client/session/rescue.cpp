// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/session/rescue.hpp"

#include <span>
#include <vector>

#include "journal/folder.hpp"
#include "transport/bundle.hpp"

namespace millrace::client {

Status rescue(const transport::Producer& ring, const Protected& file, const std::string& directory,
              std::uint64_t alive_ns) {
  std::vector<journal::Record> records;
  ring.each_kept([&](const transport::FrameHeader& frame, const std::byte* at) {
    if (!transport::carries_records(frame.kind) || frame.file != file.file || frame.length == 0) return;
    if (transport::record_checksum(at, frame.length, frame.offset) != frame.checksum) return;
    const std::span<const std::byte> payload(at, frame.length);
    journal::Record saved{.stamp = frame.span, .offset = frame.offset, .data = payload};
    if (frame.kind == transport::Kind::write) return records.push_back(saved);
    transport::Unbundler::Unbundled record{};
    for (transport::Unbundler bundle;
         bundle.next(frame.offset, payload, record) == transport::Unbundler::Found::record; bundle.taken()) {
      saved.offset = record.offset;
      saved.data = record.data;
      records.push_back(saved);
    }
  });
  const journal::StateSector left{.writers = file.writers, .alive_ns = alive_ns};
  return records.empty() ? Status() : journal::save(directory, file.identity, records, left);
}

}  // namespace millrace::client
