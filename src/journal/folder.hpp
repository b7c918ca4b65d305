// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/file_identity.hpp"
#include "base/result.hpp"
#include "io/posix/owned.hpp"
#include "journal/format.hpp"

// Logs with names, as every process of the user and the node sees them. The lock (flock) of a log tells that
// its owner lives; all else that others have to know is in its header and its state.
namespace millrace::journal {

// A log of the folder.
struct Named {
  std::string path;
  Fd file;
  Start start;
  bool living = false;  // another process has its lock
};

// Reads the first bytes of a log; false if there are fewer.
using ReadStart = std::function<bool(const Fd& log, void* into, std::size_t size)>;

// One log, as it is now. Bytes that the file lacks of its start are zero.
Result<Named> look_at(const std::string& path, const ReadStart& read = io::read_start);

// Whether there can be any logs: one system call.
bool has_logs(const std::string& directory);

// Those that may be of the target. A log of another version may be of any file with the target's numbers.
std::vector<Named> logs_of(const std::string& directory, const FileIdentity& target, const ReadStart& read);

// Only for the owner of the log, or the holder of its lock.
void set_state(const Fd& log, Start& start, State state);
void show_progress(const Fd& log, Start& start);

// Records in a dead process's log must not overwrite bytes that are written from now on.
void pass_over(const Named& log);

// The identity that a log stores for its target. `target` is open.
Identity identity_of(Kind kind, const Fd& target, const Result<FileIdentity>& identity);

struct Piece {
  std::uint64_t offset;
  std::span<const std::byte> data;
};

// A log of these records, which is on the disk when this returns.
Status save(const std::string& directory, Identity identity, std::span<const Piece> pieces);

}  // namespace millrace::journal
