// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>

#include "base/checksum.hpp"
#include "base/file_identity.hpp"
#include "base/settings.hpp"

// The layouts of FORMAT.md.
namespace millrace::journal {

inline constexpr char magic[8] = {'M', 'L', 'R', 'A', 'C', 'E', 'J', '1'};
inline constexpr std::uint32_t version = 3;
inline constexpr const char* suffix = ".journal";          // of those that have names
inline constexpr std::uint32_t record_magic = 0x6365524d;  // "MRec"
inline constexpr std::size_t path_max = 4008;
inline constexpr std::uint64_t payload_max = 1 * MiB;

enum class Layout : std::uint32_t {
  runs = 1,  // sorted runs
  log = 2,   // records in the order of writing
};
// commit: of the payload, its first `offset` bytes had been datasynced before this was written.
enum class Type : std::uint16_t { data = 1, run = 2, commit = 3 };

struct FileHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t path_length;
  std::uint64_t job_hash;
  std::uint64_t device;
  std::uint64_t inode;
  std::uint64_t created_ns;
  std::uint64_t birth_ns;
  std::uint64_t handle;
  std::uint64_t mark;
  char path[path_max];
  Layout layout;
  std::uint32_t reserved;
  std::uint64_t checksum;
};
static_assert(sizeof(FileHeader) == 4096 && std::is_trivially_copyable_v<FileHeader>);
static_assert(offsetof(FileHeader, device) == 24 && offsetof(FileHeader, birth_ns) == 48 &&
              offsetof(FileHeader, mark) == 64 && offsetof(FileHeader, path) == 72 &&
              offsetof(FileHeader, layout) == 4080 && offsetof(FileHeader, checksum) == 4088);

struct RecordHeader {
  std::uint32_t magic;
  Type type;
  std::uint16_t reserved;
  std::uint64_t sequence;
  std::uint64_t offset;
  std::uint32_t length;
  std::uint32_t reserved2;
  std::uint64_t payload_checksum;
  std::uint64_t header_checksum;
};
static_assert(sizeof(RecordHeader) == 48 && std::is_trivially_copyable_v<RecordHeader>);
static_assert(offsetof(RecordHeader, length) == 24 && offsetof(RecordHeader, header_checksum) == 40);

inline std::uint64_t header_checksum(const FileHeader& header) {
  return checksum(&header, offsetof(FileHeader, checksum));
}
inline std::uint64_t header_checksum(const RecordHeader& header, std::uint64_t seed) {
  return checksum(&header, offsetof(RecordHeader, header_checksum), seed);
}

// Whose records a journal holds.
struct Identity {
  std::uint64_t job_hash = 0;
  FileIdentity target;
  std::uint64_t created_ns = 0;
  std::string path;
  Layout layout = Layout::runs;
};

inline FileHeader header_of(const Identity& identity) {
  FileHeader header = {};
  std::memcpy(header.magic, magic, sizeof magic);
  header.version = version;
  header.path_length = static_cast<std::uint32_t>(std::min(identity.path.size(), path_max));
  header.job_hash = identity.job_hash;
  header.device = identity.target.device;
  header.inode = identity.target.inode;
  header.created_ns = identity.created_ns;
  header.birth_ns = identity.target.birth_ns;
  header.handle = identity.target.handle;
  header.mark = identity.target.mark;
  std::memcpy(header.path, identity.path.data(), header.path_length);
  header.layout = identity.layout;
  header.checksum = header_checksum(header);
  return header;
}

// The file that the records are for. Headers of other versions have only its numbers in the same places.
inline FileIdentity target_of(const FileHeader& header) {
  if (header.version != version) return {header.device, header.inode};
  return {header.device, header.inode, header.birth_ns, header.handle, header.mark};
}

// `seed`, the file header's checksum, makes the record one of that journal.
inline RecordHeader header_of_record(Type type, std::uint64_t sequence, std::uint64_t offset,
                                     std::span<const std::byte> data, std::uint64_t seed) {
  RecordHeader header = {};
  header.magic = record_magic;
  header.type = type;
  header.sequence = sequence;
  header.offset = offset;
  header.length = static_cast<std::uint32_t>(data.size());
  header.payload_checksum = checksum(data.data(), data.size(), offset);
  header.header_checksum = header_checksum(header, seed);
  return header;
}

// Bytes of a record in the file, header and padding included.
constexpr std::uint64_t record_bytes(std::uint64_t length) {
  return sizeof(RecordHeader) + ((length + 7) & ~std::uint64_t{7});
}

}  // namespace millrace::journal
