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

const char* describe(const Target& target) {
  if (!target.file) return target.file.status().code() == Code::not_found ? "gone" : "cannot be opened";
  switch (target.sameness) {
    case Sameness::same:
      return "there";
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
  if (!io::take_lock(*file))
    return refuse(
        "a living agent or a recovery still needs the journal, so it stays; run millrace drain to wait for "
        "agents");
  const journal::Summary summary = journal::scan(*file);
  if (const Status gone = io::remove_durably(path); !gone.ok()) return refuse(gone.describe());
  out << path << ": discarded: " << contents(summary) << '\n';
  return true;
}

}  // namespace

std::optional<std::vector<std::string>> journals_in(const std::string& directory, std::ostream& error) {
  Result<std::vector<std::string>> paths = io::list_owned(directory, journal::suffix);
  if (paths) return *std::move(paths);
  const bool others = paths.status().code() == Code::access;
  error
      << begin_of_line << io::owned_folder(directory) << ": "
      << (others
              ? "this folder is not the user's own, or other users can write to it; no journal in it is used"
              : paths.status().describe())
      << '\n';
  return std::nullopt;
}

int list_journals(const std::string& directory, io::Storage& storage, std::ostream& out,
                  std::ostream& error) {
  const auto paths = journals_in(directory, error);
  if (!paths) return 1;
  for (const std::string& path : *paths) {
    const Result<journal::Named> log = journal::look_at(path);
    if (!log) continue;  // removed meanwhile
    const journal::Summary summary = journal::scan(log->file);
    out << path << ": " << contents(summary);
    if (journal::to_status(summary.verdict).ok() || summary.end > 0)
      out << " (" << describe(find_target(storage, summary.header, false)) << ')';
    out << "; " << (log->living ? "living" : "dead")
        << (summary.state.passed_over != 0 ? ", passed over" : "") << '\n';
  }
  if (paths->empty()) out << "no journals in " << directory << '\n';
  return 0;
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
