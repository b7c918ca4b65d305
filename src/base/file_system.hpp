// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

// The one place that knows file systems by their types.
namespace millrace {

// Whether nodes that write different bytes of one page at the same time keep each other's bytes.
enum class Coherence : std::uint8_t {
  none,     // no, or not known: a node may write back a whole page, with bytes that another node has changed
  nodes,    // yes: the nodes keep their caches coherent, or write back only the bytes that programs wrote
  machine,  // yes: the file system belongs to this machine, which has one cache
};

// A row of the table of types. A type without a row is like an empty row.
struct FileSystemType {
  std::uint32_t number = 0;    // f_type of statfs(2); 0: several types have it
  std::string_view name = {};  // in the table of mounts
  Coherence coherence = Coherence::none;
  std::string_view option = {};  // the row is for mounts with this option; empty: for all
  bool exact_direct = false;     // writes with O_DIRECT change no other bytes, and need no alignment
};

std::span<const FileSystemType> file_system_types();
FileSystemType type_by_name(std::string_view name, std::string_view options);
FileSystemType type_by_number(std::uint32_t number);
// Of the file system of an open file. Asks no server of a network file system.
FileSystemType type_of(int file);

// Returns f_type of statfs(2); 0: the type is unknown.
std::uint32_t type_of_file_system(const char* path);
std::uint32_t type_of_file_system(int file);

// A line of the table of mounts. Empty: the table does not tell.
struct Mount {
  std::string type, source, options;
};
Mount mount_of(std::uint64_t device);

// The type and the source of the file system with this st_dev, with a space between them. They come from the
// table of mounts, so no server of a network file system is asked. Empty: the table does not tell.
std::string file_system_of(std::uint64_t device);

// True for a file system of this machine. An unknown type may be remote.
inline bool is_local_type(std::uint32_t number) {
  return type_by_number(number).coherence == Coherence::machine;
}
// The same for the name of a type in the table of mounts, such as "ext4".
inline bool is_local_type(std::string_view name) {
  return type_by_name(name, {}).coherence == Coherence::machine;
}
// The same for the file system of an open file.
inline bool is_local(int file) { return type_of(file).coherence == Coherence::machine; }
// True for the name of a type that a FUSE server implements.
bool is_fuse_type(std::string_view name);
// True for a file system with all its files in memory.
bool is_memory_type(std::uint32_t type);

}  // namespace millrace
