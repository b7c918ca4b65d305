// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// What earlier closes have left to go on, as its readers see it: the files of agent/ledger.hpp.
#include <sys/stat.h>

#include <cstring>
#include <ctime>
#include <string>

#include "base/local.hpp"
#include "client/file.hpp"
#include "client/process.hpp"
#include "client/start.hpp"
#include "io/posix/owned.hpp"
#include "journal/format.hpp"
#include "transport/layout.hpp"
#include "transport/memory.hpp"

namespace millrace::client {

namespace {

// What the ledgers of one target are at.
struct Found {
  bool open = false;      // some rank has the target open
  bool draining = false;  // an agent is bringing it to the target
  std::size_t dead = 0;   // nobody is: so many
  std::uint64_t progress = 0;
};

bool is_of(const Fd& file, const struct stat& target) {
  journal::FileHeader header;
  if (!io::read_start(file, &header, sizeof header)) return false;
  return std::memcmp(header.magic, journal::magic, sizeof journal::magic) == 0 &&
         header.device == target.st_dev && header.inode == target.st_ino;
}

Found look(const std::string& directory, const struct stat& target) {
  Found found;
  const Result<std::vector<std::string>> paths = io::list_owned(directory, journal::suffix);
  if (!paths) return found;
  for (const std::string& path : *paths) {
    const Result<Fd> file = io::open_owned(path);
    if (!file || !is_of(*file, target)) continue;
    if (!io::is_locked(*file)) {
      ++found.dead;
    } else if (io::is_sealed(*file)) {
      found.draining = true;
      found.progress += io::touched_ns(*file);
    } else {
      found.open = true;
    }
  }
  return found;
}

// Ranks of this job have the file open, or are just closing it.
void flush_open(const char* path, const struct stat& target) {
  const char* why = nullptr;
  std::uint64_t seen = 0;
  Session* session = own_process().session(false, why);
  if (session == nullptr || !session->knows(transport::file_number(target.st_dev, target.st_ino), seen))
    return;
  OpenRequest request;
  request.path = path;
  request.group = transport::now_ns() | 1u;
  request.settings = process_settings().file;
  const std::unique_ptr<File> file = open(std::move(request));
  Status status = file->flush(everything);
  if (const Status closed = file->close(); status.ok()) status = closed;
  if (!status.ok()) log(std::string(path) + ": " + status.describe());
}

void pause_ms(long milliseconds) {
  const timespec pause{0, milliseconds * 1'000'000};
  ::nanosleep(&pause, nullptr);
}

}  // namespace

void settle_ledgers(const char* path) {
  const Settings& settings = process_settings();
  const std::string directory = local_directory(settings);
  struct stat target {};
  if (!settings.enabled || ::stat(io::owned_folder(directory).c_str(), &target) != 0) return;
  if (::stat(path, &target) != 0) return;
  std::size_t unusable = 0;  // that recovery has left
  std::uint64_t progress = 0;
  std::uint64_t since_ns = transport::now_ns();
  for (long wait_ms = 1;; wait_ms = wait_ms < 16 ? 2 * wait_ms : wait_ms) {
    const Found found = look(directory, target);
    // An agent that we have waited for may leave one too.
    if (found.dead > unusable) {
      (void)run_recovery(settings, directory);
      unusable = look(directory, target).dead;
      if (unusable > 0)
        log(std::string(path) + ": bytes that were written before a crash are in " + directory +
            " and not in the file; millrace recover says why, and finishes it");
      continue;
    }
    if (found.open) flush_open(path, target);
    if (!found.draining) return;
    const std::uint64_t now_ns = transport::now_ns();
    if (found.progress != progress) since_ns = now_ns;
    progress = found.progress;
    if (now_ns - since_ns > settings.timeout_ms * 1'000'000) {
      log(std::string(path) + ": an agent is still writing what was closed before, without progress for " +
          std::to_string(settings.timeout_ms / 1000) +
          " s: what is read may be old; millrace drain waits for it");
      return;
    }
    pause_ms(wait_ms);
  }
}

}  // namespace millrace::client
