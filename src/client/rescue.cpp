// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/rescue.hpp"

#include <vector>

#include "io/posix/owned.hpp"
#include "journal/format.hpp"
#include "transport/bundle.hpp"

namespace millrace::client {

namespace {

void add(std::vector<std::byte>& bytes, const void* data, std::size_t size) {
  const auto* const from = static_cast<const std::byte*>(data);
  bytes.insert(bytes.end(), from, from + size);
}

// One record, or those of a bundle, which this process has written.
template <class Take>
void each_record(const transport::FrameHeader& frame, std::span<const std::byte> payload, Take&& take) {
  if (frame.kind == transport::Kind::write) return take({frame.offset, payload});
  transport::Unbundler::Record record{};
  for (transport::Unbundler at; at.next(frame.offset, payload, record) == transport::Unbundler::Found::record;
       at.taken())
    take(record);
}

}  // namespace

Protected protect(std::uint32_t file, const Fd& target, const Result<FileIdentity>& identity) {
  return {file, identity ? *identity : FileIdentity(), io::path_of(target.get())};
}

Status rescue(const transport::Producer& ring, const Protected& file, const std::string& directory) {
  std::uint64_t sequence = 0;
  std::vector<std::byte> bytes;
  Result<io::Owned> made = Code::not_found;
  std::uint64_t seed = 0;
  ring.each_kept([&](const transport::FrameHeader& frame, const std::byte* payload) {
    if (!transport::carries_records(frame.kind) || frame.file != file.file || frame.length == 0) return;
    if (sequence == 0) {
      made = io::create_owned(directory, std::string("-rescue") + journal::suffix);
      const std::uint64_t created_ns = made ? made->created_ns : 0;
      const journal::FileHeader header =
          journal::header_of({0, file.identity, created_ns, file.path, journal::Layout::log});
      seed = header.checksum;
      add(bytes, &header, sizeof header);
    }
    each_record(frame, {payload, frame.length}, [&](const transport::Unbundler::Record& record) {
      const journal::RecordHeader header =
          journal::header_of_record(journal::Type::data, sequence++, record.offset, record.data, seed);
      const std::size_t end = bytes.size() + journal::record_bytes(record.data.size());
      add(bytes, &header, sizeof header);
      add(bytes, record.data.data(), record.data.size());
      bytes.resize(end);
    });
  });
  if (sequence == 0) return {};
  if (file.path.empty() || file.path.size() > journal::path_max) return Code::unsupported;
  if (!made) return made.status();
  const Status written = io::write_durably(made->file, bytes);
  if (!written.ok()) (void)io::remove_owned(made->path);
  return written;
}

}  // namespace millrace::client
