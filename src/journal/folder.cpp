// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "journal/folder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "io/posix/owned.hpp"

namespace millrace::journal {

namespace {

// Bounds the reads of a state: a read may see a part of the old state and a part of the new one.
constexpr int state_tries = 8;

Status put_state(const Fd& log, const StateSector& sector, bool durably) {
  const auto bytes = std::as_bytes(std::span(&sector, 1));
  return durably ? io::write_durably(log, sizeof(FileHeader), bytes)
                 : io::write_at(log, sizeof(FileHeader), bytes);
}

StateSector changed(const Start& start, State state, std::uint64_t progress) {
  return sector_of(state, start.sector.passed_over != 0, progress, start.header.checksum);
}

}  // namespace

bool has_logs(const std::string& directory) {
  return ::access(io::owned_folder(directory).c_str(), F_OK) == 0;
}

Result<Named> look_at(const std::string& path, const ReadStart& read) {
  Result<Fd> file = io::open_owned(path);
  if (!file) return file.status();
  Named log{path, *std::move(file), {}, false};
  for (int tries = 0; tries < state_tries; ++tries) {
    log.start = {};
    if (!read(log.file, &log.start, sizeof log.start))
      (void)read(log.file, &log.start.header, sizeof log.start.header);
    if (sound(log.start)) break;
  }
  if (!sound(log.start)) log.start.sector = {};  // damaged, or of another version: recovery reports it
  log.living = io::is_locked(log.file);
  return log;
}

std::vector<Named> logs_of(const std::string& directory, const FileIdentity& target, const ReadStart& read) {
  std::vector<Named> found;
  const Result<std::vector<std::string>> paths = io::list_owned(directory, suffix);
  for (std::size_t i = 0; paths && i < paths->size(); ++i) {
    Result<Named> log = look_at((*paths)[i], read);
    if (!log) continue;
    const FileHeader& header = log->start.header;
    if (std::memcmp(header.magic, magic, sizeof magic) != 0) continue;
    if (same_file(target_of(header), target) == Sameness::other) continue;
    found.push_back(*std::move(log));
  }
  return found;
}

void set_state(const Fd& log, Start& start, State state) {
  start.sector = changed(start, state, start.sector.progress);
  (void)put_state(log, start.sector, false);
}

void show_progress(const Fd& log, Start& start) {
  start.sector = changed(start, start.sector.state, start.sector.progress + 1);
  (void)put_state(log, start.sector, false);
}

// Builds that wrote version 3 use the execute permission as this mark.
void pass_over(const Named& log) {
  const FileHeader& header = log.start.header;
  if (header.version != version) {
    (void)::fchmod(log.file.get(), S_IRWXU);
    return;
  }
  const StateSector& now = log.start.sector;
  const State state = now.state == State::draining ? State::draining : State::open;
  (void)put_state(log.file, sector_of(state, true, now.progress, header.checksum), true);
}

Identity identity_of(Kind kind, const Fd& target, const Result<FileIdentity>& identity) {
  return {kind, identity ? *identity : FileIdentity(), 0, io::path_of(target.get())};
}

Status save(const std::string& directory, Identity identity, std::span<const Piece> pieces) {
  if (identity.path.empty() || identity.path.size() > path_max) return Code::unsupported;
  Result<io::Owned> made = io::create_owned(directory, suffix);
  if (!made) return made.status();
  identity.created_ns = made->created_ns;
  const Start start = start_of(identity);
  const auto begin = std::as_bytes(std::span(&start, 1));
  std::vector<std::byte> bytes(begin.begin(), begin.end());
  std::uint64_t sequence = 0, payload_bytes = 0;
  for (const Piece& piece : pieces) {
    put_record(bytes, Type::data, sequence++, piece.offset, piece.data, start.header.checksum);
    payload_bytes += piece.data.size();
  }
  const Status written = io::write_durably(made->file, 0, bytes);
  if (!written.ok()) {
    (void)io::remove_owned(made->path);
    return written;
  }
  const std::uint64_t end = bytes.size();
  bytes.clear();
  put_record(bytes, Type::commit, sequence, payload_bytes, {}, start.header.checksum);
  // Without the commit record, a reader could take damage for an incomplete tail.
  (void)io::write_durably(made->file, end, bytes);
  return {};
}

}  // namespace millrace::journal
