// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "journal/folder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include "io/posix/identity.hpp"
#include "io/posix/owned.hpp"

namespace millrace::journal {

namespace {

std::string hex(std::uint64_t number) {
  char text[17] = {};
  return {text, std::to_chars(text, text + sizeof text, number, 16).ptr};
}

// Bounds the reads of a state: a read may see a part of the old state and a part of the new one.
constexpr int state_tries = 8;

// False: the name of the log says that its target has another inode number, and that the target's number
// lasts, for it has no mark. Earlier builds gave other names.
bool may_be_of(std::string_view path, const FileIdentity& target) {
  if (target.mark > unmarked) return true;
  std::string_view name = path.substr(path.rfind('/') + 1);
  name.remove_suffix(std::string_view(suffix).size());
  const std::size_t first = name.find('-'), last = name.rfind('-');
  return first == last || name.substr(last + 1) == hex(target.inode);
}

Result<std::vector<std::string>> paths_in(const std::string& directory) {
  Result<std::vector<std::string>> paths = io::list_owned(directory, suffix);
  if (!paths && io::is_foreign_folder(directory)) return std::vector<std::string>();
  return paths;
}

}  // namespace

Result<std::size_t> read_start(const Fd& log, std::span<std::byte> into) { return io::read_start(log, into); }

Result<bool> has_logs(const std::string& directory) {
  const Result<std::vector<std::string>> paths = paths_in(directory);
  if (!paths) return paths.status();
  return !paths->empty();
}

Result<Named> look_at(const std::string& path, const ReadStart& read) {
  Result<Fd> file = io::open_owned(path);
  if (!file) return file.status();
  Named log{path, *std::move(file), {}, false};
  for (int tries = 0; tries < state_tries; ++tries) {
    log.start = {};
    const Result<std::size_t> got = read(log.file, std::as_writable_bytes(std::span(&log.start, 1)));
    if (!got) return got.status();
    if (*got < sizeof log.start) log.start.sector = {};
    if (sound(log.start)) break;
  }
  if (!sound(log.start)) log.start.sector = {};  // damaged, or of another version: recovery reports it
  log.living = io::is_locked(log.file);
  return log;
}

Result<std::vector<Named>> logs_of(const std::string& directory, const FileIdentity& target,
                                   const ReadStart& read) {
  std::vector<Named> found;
  const Result<std::vector<std::string>> paths = paths_in(directory);
  if (!paths) return paths.status();
  for (const std::string& path : *paths) {
    if (!may_be_of(path, target)) continue;
    Result<Named> log = look_at(path, read);
    if (log.status().code() == Code::not_found) continue;  // removed meanwhile
    if (!log) return log.status();
    const FileHeader& header = log->start.header;
    if (std::memcmp(header.magic, magic, sizeof magic) != 0) continue;
    if (same_target(target_of(header), target) == Sameness::other) continue;
    found.push_back(*std::move(log));
  }
  return found;
}

std::string suffix_of(std::uint64_t inode) { return "-" + hex(inode) + suffix; }

Status put_state(const Fd& log, Start& start, const StateSector& sector, bool durably) {
  start.sector = sealed(sector, start.header.checksum);
  const auto bytes = std::as_bytes(std::span(&start.sector, 1));
  return durably ? io::write_durably(log, sizeof(FileHeader), bytes)
                 : io::write_at(log, sizeof(FileHeader), bytes);
}

void set_state(const Fd& log, Start& start, LogState state) {
  StateSector sector = start.sector;
  sector.state = state;
  (void)put_state(log, start, sector);
}

void show_progress(const Fd& log, Start& start) {
  StateSector sector = start.sector;
  ++sector.progress;
  (void)put_state(log, start, sector);
}

Status retire(const Fd& log, const std::string& path) {
  Start start{};
  const Result<std::size_t> begin = read_start(log, std::as_writable_bytes(std::span(&start, 1)));
  const bool whole = begin && *begin == sizeof start;  // otherwise the log has no record
  StateSector sector = start.sector;
  sector.state = LogState::done;
  if (whole) (void)put_state(log, start, sector);  // the process may die before the removal
  const Status removed = io::remove_durably(path);
  if (removed.ok() || removed.code() == Code::not_found) return {};
  if (!begin) return begin.status();
  return whole ? put_state(log, start, sector, true) : Status();
}

std::uint64_t alive_ns(const StateSector& sector, const Result<FileState>& log) {
  return sector.alive_ns != 0 || !log ? sector.alive_ns : log->mtime_ns;
}

// Builds that wrote version 3 use the execute permission as this mark.
Status pass_over(const Named& log) {
  const Status locked = io::try_lock(log.file);
  if (!io::has_name(log.file)) return {};
  if (!locked.ok()) return locked;
  if (log.start.header.version != version)
    return ::fchmod(log.file.get(), S_IRWXU) == 0 ? Status() : Status::from_errno(errno);
  Start start = log.start;
  StateSector sector = start.sector;
  sector.passed_over = 1;
  sector.alive_ns = alive_ns(sector, io::state_of(log.file));
  return put_state(log.file, start, sector, true);
}

Result<bool> is_recovering(const std::string& directory) { return io::is_folder_locked(directory); }

Result<std::uint64_t> progress_in(const std::string& directory, const ReadStart& read) {
  std::uint64_t progress = 0;
  const Result<std::vector<std::string>> paths = paths_in(directory);
  if (!paths) return paths.status();
  for (const std::string& path : *paths) {
    const Result<Named> log = look_at(path, read);
    if (log.status().code() == Code::not_found) continue;  // removed meanwhile
    if (!log) return log.status();
    progress += log->start.sector.progress + 1;
  }
  return progress;
}

Identity identity_of(LogKind kind, const Fd& target, const Result<FileIdentity>& identity,
                     std::uint64_t group) {
  Identity made{kind, identity ? *identity : FileIdentity(), 0, io::path_of(target.get())};
  made.boot = io::boot_number();
  made.group = group;
  return made;
}

Status save(const std::string& directory, Identity identity, std::span<const Record> records,
            const StateSector& sector) {
  if (identity.path.empty() || identity.path.size() > path_max) return Code::unsupported;
  Result<io::Owned> made = io::create_owned(directory, suffix_of(identity.target.inode));
  if (!made) return made.status();
  identity.created_ns = made->created_ns;
  Start start = start_of(identity);
  start.sector = sealed(sector, start.header.checksum);
  const auto begin = std::as_bytes(std::span(&start, 1));
  std::vector<std::byte> bytes(begin.begin(), begin.end());
  std::uint64_t sequence = 0, payload_bytes = 0;
  for (Record record : records) {
    record.sequence = sequence++;
    put_record(bytes, record, start.header.checksum);
    payload_bytes += record.data.size();
  }
  const Status written = io::write_durably(made->file, 0, bytes);
  if (!written.ok()) {
    (void)retire(made->file, made->path);  // the caller has an error anyway
    return written;
  }
  const std::uint64_t end = bytes.size();
  bytes.clear();
  put_record(bytes, {Type::commit, sequence, 0, payload_bytes, {}}, start.header.checksum);
  // Without the commit record, a reader could take damage for an incomplete tail.
  (void)io::write_durably(made->file, end, bytes);
  return {};
}

}  // namespace millrace::journal
