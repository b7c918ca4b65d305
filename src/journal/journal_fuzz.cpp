// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Reads arbitrary bytes as a journal. Repairs the checksums of every second input first, so that the fuzzer
// reaches the code behind these checks.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "io/posix/descriptor.hpp"
#include "io/posix/owned.hpp"
#include "io/posix/unnamed.hpp"
#include "journal/reader.hpp"

namespace {

using namespace millrace;           // NOLINT: one small program
using namespace millrace::journal;  // NOLINT

void repair(std::vector<std::byte>& bytes) {
  if (bytes.size() < sizeof(FileHeader)) return;
  FileHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  std::memcpy(header.magic, magic, sizeof magic);
  header.version = version;
  header.kind = static_cast<LogKind>(1 + static_cast<unsigned>(header.kind) % 3);
  header.path_length %= path_max;
  header.checksum = header_checksum(header);
  std::memcpy(bytes.data(), &header, sizeof header);
  if (bytes.size() < sizeof(Start)) return;
  const StateSector sector = sealed({LogState::draining}, header.checksum);
  std::memcpy(bytes.data() + sizeof header, &sector, sizeof sector);
  std::uint64_t sequence = 0;
  for (std::size_t at = sizeof(Start); bytes.size() - at >= sizeof(RecordHeader);) {
    RecordHeader record;
    std::memcpy(&record, bytes.data() + at, sizeof record);
    record.magic = record_magic;
    record.type = static_cast<unsigned>(record.type) % 2 == 0 ? Type::data : Type::commit;
    record.reserved = 0;
    record.reserved2 = 0;
    record.sequence = sequence++;
    record.length %= 512;
    if (record.type != Type::data) record.length = 0;
    const std::size_t there = bytes.size() - at - sizeof record;
    record.payload_checksum = checksum(bytes.data() + at + sizeof record,
                                       std::min<std::size_t>(record.length, there), record.offset);
    record.header_checksum = header_checksum(record, header.checksum);
    std::memcpy(bytes.data() + at, &record, sizeof record);
    if (record_bytes(record.length) > there + sizeof record) return;
    at += record_bytes(record.length);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto* const input = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> bytes(input + 1, input + size);
  if (data[0] % 2 == 0) repair(bytes);
  static const Fd file = *io::create_unnamed("/tmp");
  if (!io::resize(file, 0).ok() || !io::write_at(file, 0, bytes).ok()) return 0;
  const Summary summary = scan(file);
  if (!to_status(summary.verdict).ok()) return 0;
  // record_at() must accept all records that scan() has accepted.
  std::uint64_t sequence = 0;
  for (std::uint64_t at = sizeof(Start); at < summary.end; ++sequence) {
    const auto record = record_at(std::span(bytes).subspan(at), summary.header.checksum, sequence);
    if (!record) std::abort();
    at += record_bytes(record->data.size());
  }
  return 0;
}
