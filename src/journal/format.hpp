// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/checksum.hpp"
#include "base/file_identity.hpp"
#include "base/settings.hpp"

// The layouts of FORMAT.md.
namespace millrace::journal {

inline constexpr char magic[8] = {'M', 'L', 'R', 'A', 'C', 'E', 'J', '1'};
inline constexpr std::uint32_t version = 6;
inline constexpr const char* suffix = ".journal";          // of logs with names
inline constexpr std::uint32_t record_magic = 0x6365524d;  // "MRec"
inline constexpr std::size_t path_max = 4000;
inline constexpr std::uint64_t payload_max = 1 * MiB;

enum class LogKind : std::uint32_t { overflow = 1, ledger = 2, rescue = 3 };
// done: the target's disk has all records of this log and of the logs that it leads.
enum class LogState : std::uint32_t { open = 1, draining = 2, done = 3 };
// The processes that may write to the target beside the state that the log notes.
enum class Writers : std::uint32_t {
  owner = 0,   // the owner of the log, until the end of its life
  nobody = 1,  // every later change of the target is somebody else's
  nodes = 2,   // agents of other nodes too, which may outlive the owner
};
// commit: the first `offset` payload bytes were on the disk before this record was written.
enum class Type : std::uint16_t { data = 1, commit = 3 };

struct FileHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t path_length;
  std::uint64_t boot;
  std::uint64_t device;
  std::uint64_t inode;
  std::uint64_t created_ns;
  std::uint64_t birth_ns;
  std::uint64_t handle;
  std::uint64_t mark;
  std::uint64_t group;
  char path[path_max];
  LogKind kind;
  std::uint32_t clock;
  std::uint64_t checksum;
};
static_assert(sizeof(FileHeader) == 4096 && std::is_trivially_copyable_v<FileHeader>);
static_assert(offsetof(FileHeader, device) == 24 && offsetof(FileHeader, birth_ns) == 48 &&
              offsetof(FileHeader, mark) == 64 && offsetof(FileHeader, path) == 80 &&
              offsetof(FileHeader, kind) == 4080 && offsetof(FileHeader, checksum) == 4088);

// A place between two records: behind `records` records, which have `payload_bytes`.
struct LogPlace {
  std::uint64_t position = 0;  // in the file; 0: before the first record
  std::uint64_t records = 0;
  std::uint64_t payload_bytes = 0;
};

struct StateSector {
  LogState state = {};  // 0: never written, which means open
  std::uint32_t passed_over = 0;
  std::uint64_t progress = 0;
  Writers writers = Writers::owner;
  std::uint32_t reserved = 0;
  FileState target = {};
  std::uint64_t alive_ns = 0;
  std::uint64_t leader = 0;
  LogPlace begin = {};
  std::uint64_t agent = 0;
  std::uint64_t checksum = 0;
  char reserved2[408] = {};
};
static_assert(sizeof(StateSector) == 512 && offsetof(StateSector, target) == 24 &&
              offsetof(StateSector, begin) == 64 && offsetof(StateSector, checksum) == 96 &&
              std::is_trivially_copyable_v<StateSector>);

// The begin of a log. The records follow.
struct Start {
  FileHeader header;
  StateSector sector;
};
static_assert(sizeof(Start) == 4608 && std::is_trivially_copyable_v<Start>);

struct RecordHeader {
  std::uint32_t magic;
  Type type;
  std::uint16_t reserved;
  std::uint64_t sequence;
  std::uint64_t offset;
  std::uint32_t length;
  std::uint32_t reserved2;
  std::uint64_t stamp;
  std::uint64_t payload_checksum;
  std::uint64_t header_checksum;
};
static_assert(sizeof(RecordHeader) == 56 && std::is_trivially_copyable_v<RecordHeader>);
static_assert(offsetof(RecordHeader, length) == 24 && offsetof(RecordHeader, header_checksum) == 48);

inline std::uint64_t header_checksum(const FileHeader& header) {
  return checksum(&header, offsetof(FileHeader, checksum));
}
inline std::uint64_t header_checksum(const RecordHeader& header, std::uint64_t seed) {
  return checksum(&header, offsetof(RecordHeader, header_checksum), seed);
}

// The use of a log, and its target.
struct Identity {
  LogKind kind = LogKind::overflow;
  FileIdentity target;
  std::uint64_t created_ns = 0;
  std::string path;
  std::uint64_t boot = 0;   // io::boot_number()
  std::uint32_t clock = 0;  // of the stamps
  std::uint64_t group = 0;  // of the open: the same on all nodes
};

inline FileHeader header_of(const Identity& identity) {
  FileHeader header = {};
  std::memcpy(header.magic, magic, sizeof magic);
  header.version = version;
  header.path_length = static_cast<std::uint32_t>(std::min(identity.path.size(), path_max));
  header.boot = identity.boot;
  header.device = identity.target.device;
  header.inode = identity.target.inode;
  header.created_ns = identity.created_ns;
  header.birth_ns = identity.target.birth_ns;
  header.handle = identity.target.handle;
  header.mark = identity.target.mark;
  header.group = identity.group;
  std::memcpy(header.path, identity.path.data(), header.path_length);
  header.kind = identity.kind;
  header.clock = identity.clock;
  header.checksum = header_checksum(header);
  return header;
}

inline bool all_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte one) { return one == std::byte{0}; });
}

// The sector with its checksum. `seed`: the file header's checksum.
inline StateSector sealed(StateSector sector, std::uint64_t seed) {
  if (sector.state == LogState()) sector.state = LogState::open;
  sector.checksum = checksum(&sector, offsetof(StateSector, checksum), seed);
  return sector;
}

inline Start start_of(const Identity& identity) {
  const FileHeader header = header_of(identity);
  return {header, sealed({}, header.checksum)};
}

inline std::string path_of(const FileHeader& header) {
  return {header.path, std::min<std::size_t>(header.path_length, path_max)};
}

// The target of the records. Headers of other versions have only its numbers at the same bytes.
inline FileIdentity target_of(const FileHeader& header) {
  if (header.version != version) return {header.device, header.inode};
  return {header.device, header.inode, header.birth_ns, header.handle, header.mark};
}

// The size of a record in the file, header and padding included.
constexpr std::uint64_t record_bytes(std::uint64_t length) {
  return sizeof(RecordHeader) + ((length + 7) & ~std::uint64_t{7});
}

inline bool sound(const LogPlace& begin) {
  if (begin.position == 0) return begin.records == 0 && begin.payload_bytes == 0;
  const std::uint64_t bytes = begin.position - sizeof(Start);  // of the records before
  return begin.position >= sizeof(Start) && begin.position <= INT64_MAX && begin.position % 8 == 0 &&
         begin.records <= bytes / sizeof(RecordHeader) && begin.payload_bytes <= bytes;
}

// True if the state is valid. A sector of zeros is valid too: it has never reached the disk.
inline bool sound(const Start& start) {
  const StateSector& now = start.sector;
  const bool known =
      now.state >= LogState::open && now.state <= LogState::done && now.writers <= Writers::nodes;
  const bool right = now.checksum == checksum(&now, offsetof(StateSector, checksum), start.header.checksum);
  return (known && right && sound(now.begin) && now.passed_over <= 1 && now.reserved == 0 &&
          all_zero(std::as_bytes(std::span(now.reserved2)))) ||
         all_zero(std::as_bytes(std::span(&now, 1)));
}

struct Record {
  Type type = Type::data;
  std::uint64_t sequence = 0;
  std::uint64_t stamp = 0;
  std::uint64_t offset = 0;         // in the target
  std::span<const std::byte> data;  // a reader's records: in the reader's memory
};

// Appends a record. `seed`, the file header's checksum, ties the record to its log.
inline void put_record(std::vector<std::byte>& bytes, const Record& record, std::uint64_t seed) {
  const auto& [type, sequence, stamp, offset, data] = record;
  RecordHeader header = {};
  header.magic = record_magic;
  header.type = type;
  header.sequence = sequence;
  header.offset = offset;
  header.length = static_cast<std::uint32_t>(data.size());
  header.stamp = stamp;
  header.payload_checksum = checksum(data.data(), data.size(), offset);
  header.header_checksum = header_checksum(header, seed);
  const std::size_t end = bytes.size() + record_bytes(data.size());
  const auto* const from = reinterpret_cast<const std::byte*>(&header);
  bytes.insert(bytes.end(), from, from + sizeof header);
  bytes.insert(bytes.end(), data.begin(), data.end());
  bytes.resize(end);  // the padding, zero
}

// Checks a record's header without its payload.
inline bool valid(const RecordHeader& header, std::uint64_t seed, std::uint64_t sequence) {
  if (header.magic != record_magic || header.reserved != 0 || header.reserved2 != 0) return false;
  if (header.header_checksum != header_checksum(header, seed) || header.sequence != sequence) return false;
  if (header.type == Type::commit) return header.length == 0;
  return header.type == Type::data && header.length > 0 && header.length <= payload_max &&
         header.offset <= UINT64_MAX - header.length;
}

// The record at the begin of `bytes`; none if it is damaged or not whole.
inline std::optional<Record> record_at(std::span<const std::byte> bytes, std::uint64_t seed,
                                       std::uint64_t sequence) {
  RecordHeader header;
  if (bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (!valid(header, seed, sequence) || bytes.size() < record_bytes(header.length)) return std::nullopt;
  const auto data = bytes.subspan(sizeof header, header.length);
  const auto padding = bytes.first(record_bytes(header.length)).subspan(sizeof header + header.length);
  if (!all_zero(padding) || checksum(data.data(), data.size(), header.offset) != header.payload_checksum)
    return std::nullopt;
  return Record{header.type, sequence, header.stamp, header.offset, data};
}

}  // namespace millrace::journal
