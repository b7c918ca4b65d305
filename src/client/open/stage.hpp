// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "base/settings.hpp"
#include "client/file/file.hpp"

// Staging: a file that several nodes read is first copied to each node's own storage. The copy goes from one
// node to the next, so each link carries it once (docs/adr/0009). This header has the rank's part that needs
// no MPI.
namespace millrace::client {

// The state of a file at one time. Another file has another stamp, and so has a changed file: every change
// changes at least `status_ns`.
struct FileStamp {
  std::uint64_t inode = 0;  // 0: there is no regular file
  std::uint64_t size = 0;
  std::int64_t changed_ns = 0;
  std::int64_t status_ns = 0;  // of the last change of bytes, owner, mode or name

  bool operator==(const FileStamp&) const = default;
};
FileStamp stamp_of(const std::string& path);
FileStamp stamp_of(int fd);
FileStamp stamp_of(const struct stat& about);

// The node's directory for copies.
std::string stage_directory();
// True if a copy of `bytes` fits into the directory. `careful`: the copy may take at most a quarter of the
// free room, and of free memory if the directory is in memory.
bool has_room(const std::string& directory, std::uint64_t bytes, bool careful);
// Makes a new, empty file that only this user can access.
Status create_copy(const std::string& path);
void remove_copy(const std::string& path);
// Opens a copy for reading and writing. Not valid if it is not a regular file of this user.
Fd open_copy(const std::string& path);
// Opens the file itself, on its own node. `mode`: of open(2). Status::error() is its errno.
Result<Fd> open_target(const std::string& path, int mode);
// resize() sets the file's size. reserve() makes the file at least that large, with room on its disk;
// Code::no_space if there is none.
Status resize(int fd, std::uint64_t bytes);
Status reserve(int fd, std::uint64_t bytes);

// The route of a staged file's bytes between agents.
FileSettings stage_settings();
// The seam to the file that a rank sends to other nodes. Implementations: open_source() (a file of the
// system), sim/staging.hpp (a file in virtual time). Not thread safe.
class Source {
 public:
  Source() = default;
  virtual ~Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  // The file's stamp now.
  virtual FileStamp stamp() = 0;
  // Reads bytes from `offset` on: at least one byte, or none at the end of the file.
  virtual Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> data) = 0;
};
Result<std::unique_ptr<Source>> open_source(const std::string& path);
// Reads the whole source and sends it through `copy`. Ok: every node has the bytes. Code::corrupt: the
// source's stamp has changed.
Status send_whole(File& copy, Source& source, const FileStamp& stamp);

}  // namespace millrace::client
