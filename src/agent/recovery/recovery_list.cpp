// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/recovery/recovery_list.hpp"

#include <filesystem>
#include <ostream>
#include <system_error>
#include <utility>
#include <vector>

#include "agent/recovery/recovery_target.hpp"
#include "io/posix/owned.hpp"
#include "journal/folder.hpp"
#include "journal/reader.hpp"

namespace millrace::agent {

namespace {

namespace fs = std::filesystem;

constexpr const char* begin_of_line = "millrace recover: ";

std::string contents(const journal::Summary& summary) {
  if (summary.verdict == journal::Verdict::unsupported)
    return "a Millrace journal of format version " + std::to_string(summary.header.version);
  if (!journal::to_status(summary.verdict).ok() && summary.end == 0)
    return journal::describe(summary.verdict);
  std::string text = std::to_string(summary.records) + " records, " + std::to_string(summary.payload_bytes) +
                     " bytes for " + path_of(summary.header);
  if (summary.verdict == journal::Verdict::corrupt)
    text += ", corrupt from byte " + std::to_string(summary.end);
  return text;
}

std::string describe(const RecoveryTarget& target, const std::string& name) {
  if (!target.file) return target.file.status().code() == Code::not_found ? "gone" : "cannot be opened";
  switch (target.sameness) {
    case Sameness::same:
      return target.name == name ? "there" : "there, as " + target.name;
    case Sameness::other:
      return "now another file";
    case Sameness::unknown:
      return "there, may be another file";
  }
  return "";
}

// True if `path` has the form of a journal in that folder.
bool is_in(const std::string& folder, const std::string& path) {
  std::error_code unknown;
  const fs::path parent = fs::absolute(path, unknown).parent_path();
  return path.ends_with(journal::suffix) && fs::equivalent(parent, folder, unknown);
}

bool discard(const std::string& path, std::ostream& out, std::ostream& error) {
  const auto refuse = [&](const std::string& why) {
    error << begin_of_line << path << ": " << why << '\n';
    return false;
  };
  const Result<Fd> file = io::open_owned(path);
  if (!file) return refuse(file.status().describe());
  const Status locked = io::try_lock(*file);
  if (locked.code() == Code::unsupported) return refuse(no_lock(locked));
  if (!locked.ok())
    return refuse(
        "a living agent or a recovery still needs the journal, so it stays; run millrace drain to wait for "
        "agents");
  const journal::Summary summary = journal::scan(*file);
  if (const Status gone = io::remove_durably(path); !gone.ok()) return refuse(gone.describe());
  out << path << ": discarded: " << contents(summary) << '\n';
  return true;
}

}  // namespace

std::string no_lock(Status refused) {
  return "the file system of the journal gives no lock, so a process may still need it: " +
         refused.describe() + "; it stays";
}

std::optional<std::vector<std::string>> journals_in(const std::string& directory, std::ostream& error) {
  Result<std::vector<std::string>> paths = io::list_owned(directory, journal::suffix);
  if (paths) return *std::move(paths);
  error << begin_of_line << io::describe_unusable(directory, paths.status()) << '\n';
  return std::nullopt;
}

bool tell_of_others(const std::string& directory, std::ostream& error) {
  const std::vector<std::string> folders = io::other_folders(directory, journal::suffix);
  for (const std::string& folder : folders)
    error << begin_of_line << folder
          << ": has journals of another machine, or of this one under another name or an earlier build; they "
             "stay. "
             "Run millrace recover on that machine. If this is that machine, move them to "
          << io::owned_folder(directory) << " and run millrace recover again\n";
  return !folders.empty();
}

int list_journals(const std::string& directory, io::Storage& storage, std::ostream& out,
                  std::ostream& error) {
  const auto paths = journals_in(directory, error);
  if (!paths) return 1;
  bool all = true;
  for (const std::string& path : *paths) {
    const Result<journal::Named> log = journal::look_at(path);
    if (!log && log.status().code() == Code::not_found) continue;  // removed meanwhile
    if (!log) {
      error << begin_of_line << path << ": " << log.status().describe() << '\n';
      all = false;
      continue;
    }
    const journal::Summary summary = journal::scan(log->file);
    out << path << ": " << contents(summary);
    if (journal::to_status(summary.verdict).ok() || summary.end > 0) {
      const RecoveryTarget target = find_target(storage, summary.header, false);
      out << " (" << describe(target, path_of(summary.header));
      const Result<FileState> now = target.file ? storage.state_of(*target.file) : target.file.status();
      const std::uint64_t alive_ns = journal::alive_ns(summary.state, storage.state_of(log->file));
      const bool changed = now && target.sameness != Sameness::other &&
                           changed_since({summary.header, summary.state, alive_ns}, *now, io::boot_number());
      out << (changed ? ", changed since" : "") << ')';
    }
    out << "; " << (log->living ? "living" : "dead")
        << (summary.state.passed_over != 0 ? ", passed over" : "") << '\n';
  }
  const bool others = tell_of_others(directory, error);
  if (paths->empty() && !others) out << "no journals in " << directory << '\n';
  return others || !all ? 1 : 0;
}

int discard_journals(const std::string& directory, std::span<const std::string> paths, std::ostream& out,
                     std::ostream& error) {
  const std::string folder = io::owned_folder(directory);
  if (!journals_in(directory, error)) return 1;  // another user's folder stays as it is
  bool all = true;
  for (const std::string& path : paths) {
    if (!is_in(folder, path)) {
      error << begin_of_line << path << ": is not a journal in " << folder << "; it stays\n";
      all = false;
    } else {
      all &= discard(path, out, error);
    }
  }
  return all ? 0 : 1;
}

}  // namespace millrace::agent
