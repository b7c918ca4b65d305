// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "base/settings.hpp"
#include "client/file.hpp"

// A file that several nodes read is copied to each node's own storage first: from one node to the next, so
// that each link carries it once (docs/adr/0009). What follows is a rank's part that needs no MPI.
namespace millrace::client {

// What a file was when it was looked at: another one, or a changed one, has another stamp.
struct FileStamp {
  std::uint64_t inode = 0;  // 0: there is none
  std::uint64_t size = 0;
  std::int64_t changed_ns = 0;

  bool operator==(const FileStamp&) const = default;
};
FileStamp stamp_of(const std::string& path);
FileStamp stamp_of(int fd);

// The node's directory for copies.
std::string stage_directory(const Settings& settings);
// Whether a copy of so many bytes fits there. `careful`: it may take a quarter of what is free at most, also
// of memory if that is where the directory is.
bool has_room(const std::string& directory, std::uint64_t bytes, bool careful);
// A new, empty file of this user's alone.
Status create_copy(const std::string& path);
void remove_copy(const std::string& path);
// For reading and writing; not valid if it is not such a file.
Fd open_copy(const std::string& path);
// The file itself, on its own node. `mode`: of open(2). Status::error() is its errno.
Result<Fd> open_target(const std::string& path, int mode);
// Makes it so large; or no smaller than that, with room on its disk. Code::no_space where there is none.
Status resize(int fd, std::uint64_t bytes);
Status reserve(int fd, std::uint64_t bytes);
// True if reading the file means asking another machine.
bool is_remote(const std::string& path);

// How the agents pass the bytes of a file on that is staged.
FileSettings stage_settings();
// The file that is sent, a seam: what is asked of it. Implementations: open_source() (the system's),
// sim/staging.hpp (one in virtual time). Not thread safe.
class Source {
 public:
  Source() = default;
  virtual ~Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  // What it is now.
  virtual FileStamp stamp() = 0;
  // Its bytes from `offset` on: at least one of them, or none where it ends.
  virtual Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> data) = 0;
};
Result<std::unique_ptr<Source>> open_source(const std::string& path);
// Reads all of the source and sends it through `copy`; ok if every node has it. Code::corrupt if it is not
// what its stamp says any more.
Status send_whole(File& copy, Source& source, const FileStamp& stamp);

// How much of the files of a series this rank has read, in thousandths of their size, for the life of the
// process. Thread safe.
class ReadShares {
 public:
  static constexpr std::uint32_t unknown = UINT32_MAX;
  void add(std::string_view path, std::uint64_t bytes, std::uint64_t size);
  // Of the last one; `unknown` if there was none.
  std::uint32_t of(std::string_view path) const;

 private:
  struct Entry {
    std::uint64_t series = 0;  // 0 = free
    std::uint32_t share = 0;
  };
  mutable std::mutex mutex_;
  std::array<Entry, 64> entries_{};  // the oldest goes when all are taken
  std::size_t next_ = 0;
};

}  // namespace millrace::client
