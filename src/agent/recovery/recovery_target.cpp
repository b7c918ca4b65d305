// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/recovery/recovery_target.hpp"

#include <sys/stat.h>

#include "io/posix/descriptor.hpp"

namespace millrace::agent {

Target find_target(io::Storage& storage, const journal::FileHeader& header, bool writes) {
  const std::string name = path_of(header);
  Target target{writes ? io::open_to_change(name.c_str()) : io::open_to_read(name.c_str())};
  if (!target.file) return target;
  struct stat about {};
  if (::fstat(target.file->get(), &about) != 0 || !S_ISREG(about.st_mode)) {
    return {Code::invalid};
  }
  const Result<FileIdentity> found = storage.identify(*target.file, false);
  if (found) target.sameness = same_file(journal::target_of(header), *found);
  return target;
}

std::string refusal(const Target& target, const std::string& name) {
  if (!target.file) {
    if (target.file.status().code() == Code::invalid)
      return name + " is not a regular file; nothing was written to it, and the journal stays";
    const bool gone = target.file.status().code() == Code::not_found;
    return name + ": " + target.file.status().describe() +
           (gone ? "; the journal stays. If its records are not needed any more, remove it with --discard"
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

}  // namespace millrace::agent
