// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/recovery/recovery_target.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "io/posix/descriptor.hpp"

namespace millrace::agent {

namespace {

namespace fs = std::filesystem;

// An owner that may write to its target shows every second that it lives (core/open_file.cpp). The rest is
// for a node that is overloaded.
constexpr std::uint64_t sign_of_life_ns = 5'000'000'000;
// Agents of other nodes write out what they hold after the death of one agent.
constexpr std::uint64_t other_nodes_ns = 600'000'000'000;

RecoveryTarget open_target(io::Storage& storage, const journal::FileHeader& header, bool writes,
                           const std::string& name) {
  RecoveryTarget target{writes ? io::open_to_change(name.c_str()) : io::open_to_read(name.c_str()),
                        Sameness::unknown, name};
  if (!target.file) return target;
  struct stat about {};
  if (::fstat(target.file->get(), &about) != 0 || !S_ISREG(about.st_mode))
    return {Code::invalid, Sameness::unknown, name};
  target.sameness = sameness_of(storage, *target.file, header);
  return target;
}

// The name of the folder's file that is the journal's target; empty if there is none.
std::string look_in_folder(io::Storage& storage, const journal::FileHeader& header) {
  std::error_code unheeded;
  const fs::path folder = fs::path(path_of(header)).parent_path();
  for (fs::directory_iterator entry(folder, unheeded), end; !unheeded && entry != end;
       entry.increment(unheeded)) {
    struct stat about {};
    if (::lstat(entry->path().c_str(), &about) != 0 || !S_ISREG(about.st_mode) ||
        about.st_ino != header.inode)
      continue;
    const RecoveryTarget found = open_target(storage, header, false, entry->path().string());
    if (found.file && found.sameness == Sameness::same) return found.name;
  }
  return {};
}

}  // namespace

Sameness sameness_of(io::Storage& storage, const Fd& file, const journal::FileHeader& header) {
  const Result<FileIdentity> found = storage.identify(file, false);
  return found ? same_target(journal::target_of(header), *found) : Sameness::unknown;
}

RecoveryTarget find_target(io::Storage& storage, const journal::FileHeader& header, bool writes,
                           const std::string& given) {
  const std::string name = given.empty() ? path_of(header) : given;
  RecoveryTarget target = open_target(storage, header, writes, name);
  const bool lost =
      target.file ? target.sameness == Sameness::other : target.file.status().code() == Code::not_found;
  if (!lost || !given.empty()) return target;
  const std::string renamed = look_in_folder(storage, header);
  return renamed.empty() ? std::move(target) : open_target(storage, header, writes, renamed);
}

std::string refusal(const RecoveryTarget& target) {
  const std::string& name = target.name;
  if (!target.file) {
    if (target.file.status().code() == Code::invalid)
      return name + " is not a regular file; nothing was written to it, and the journal stays";
    const bool gone = target.file.status().code() == Code::not_found;
    return name + ": " + target.file.status().describe() +
           (gone ? "; the journal stays. If the file has another name in another folder now, run millrace "
                   "recover "
                   "--target FILE. If its records are not needed any more, remove it with --discard"
                 : "");
  }
  switch (target.sameness) {
    case Sameness::same:
      return {};
    case Sameness::other:
      return name +
             " is not the file of this journal, but another one with its name; nothing was written to it. "
             "--discard "
             "removes the journal, --force writes its records into this file nevertheless";
    case Sameness::unknown:
      return name +
             " may be another file than the one of this journal, because its file system has no birth times, "
             "no "
             "lasting handles and no marks; nothing was written to it. Check the file, then write the "
             "journal "
             "into it with --force, or remove the journal with --discard";
  }
  return {};
}

bool changed_since(const Left& log, const FileState& target, std::uint64_t boot) {
  const journal::StateSector& sector = log.sector;
  const FileState& left = sector.target;
  // A rename, chmod or link changes ctime_ns alone.
  const bool noted = sector.writers == journal::Writers::nobody;
  if (noted && target.bytes == left.bytes && target.mtime_ns == left.mtime_ns) return false;
  // A crash of the node may have taken the last writes from the file. No program can set ctime_ns back.
  if (noted && log.header.boot != boot && target.ctime_ns <= left.ctime_ns) return false;
  if (noted) return true;
  const bool others = sector.writers == journal::Writers::nodes;
  return target.ctime_ns > log.alive_ns + (others ? other_nodes_ns : sign_of_life_ns);
}

}  // namespace millrace::agent
