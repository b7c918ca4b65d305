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

// Logs with names, which all processes of the user on this node see. The owner of a log holds its lock
// (flock) for as long as it lives. All other facts for other processes are in the header and the state.
namespace millrace::journal {

// A log of the folder.
struct Named {
  std::string path;
  Fd file;
  Start start;
  bool living = false;  // a process holds its lock
};

// Reads the first bytes of a log. Returns their number, which is smaller if the log is shorter.
using ReadStart = std::function<Result<std::size_t>(const Fd& log, std::span<std::byte> into)>;
Result<std::size_t> read_start(const Fd& log, std::span<std::byte> into);

// Reads the begin and the lock of one log. If the file is shorter than Start, the other bytes are zero. A
// state that is not sound() is zero too. Code::not_found: it has been removed.
Result<Named> look_at(const std::string& path, const ReadStart& read = read_start);

// The next functions look at the user's folder of logs. An error means that nobody knows whether there are
// logs. It never means that there are none. Another user's folder with that name has no logs of this user.

// False: there are no logs. Costs one system call if the user has no folder of logs, else a look at its
// names.
Result<bool> has_logs(const std::string& directory);

// The logs that may belong to the target. For a log of another version, equal numbers of the file are enough.
Result<std::vector<Named>> logs_of(const std::string& directory, const FileIdentity& target,
                                   const ReadStart& read);

// The end of a log's name: logs_of() opens no log of another inode, unless the target has a mark.
std::string suffix_of(std::uint64_t inode);

// Replaces the state. Only for the owner of the log, or the holder of its lock.
Status put_state(const Fd& log, Start& start, const StateSector& sector, bool durably = false);
void set_state(const Fd& log, Start& start, LogState state);
void show_progress(const Fd& log, Start& start);
// Removes a log whose records nobody needs any more, also for the time after a crash of the node. If its name
// stays, the log says on the disk that it is done, and recovery only removes it. An error: neither was
// possible. Only for the holder of the log's lock, if nobody else writes to the log.
Status retire(const Fd& log, const std::string& path);
// The time at which the owner last wrote to the log, by the node's clock.
std::uint64_t alive_ns(const StateSector& sector, const Result<FileState>& log);

// Notes in the log of a dead process that a program now writes to the target without these records. Recovery
// then uses them only with --force. Code::timeout: another process works on the log, or looks at it. Another
// error: the log has no mark, so a recovery may still write its records.
Status pass_over(const Named& log);

// True if a recovery works in the folder.
Result<bool> is_recovering(const std::string& directory);
// The progress of all logs in the folder: a recovery may still be at those of another file.
Result<std::uint64_t> progress_in(const std::string& directory, const ReadStart& read);

// The identity that a log stores for its open target, without the time of creation and the stamps' clock.
Identity identity_of(LogKind kind, const Fd& target, const Result<FileIdentity>& identity,
                     std::uint64_t group = 0);

// Makes a log of these records, which are in the order of writing. `sector`: the state that the log gets. The
// log is on the disk when this returns.
Status save(const std::string& directory, Identity identity, std::span<const Record> records,
            const StateSector& sector = {});

}  // namespace millrace::journal
