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
    if (target.file.status().code() == Code::invalid) return name + " is not a file with bytes";
    const bool gone = target.file.status().code() == Code::not_found;
    return name + ": " + target.file.status().describe() +
           (gone ? "; --discard takes the journal away if nobody needs it any more" : "");
  }
  switch (target.sameness) {
    case Sameness::same:
      return {};
    case Sameness::other:
      return name +
             " is another file than the one that was written; nothing was written to it: --discard takes the "
             "journal away, --force writes it into this file all the same";
    case Sameness::unknown:
      return name +
             " may be another file than the one that was written: its file system tells neither a birth time "
             "nor a lasting handle, and took no mark; nothing was written to it: compare it with what was "
             "written, then --force writes the journal into this file, or --discard takes it away";
  }
  return {};
}

}  // namespace millrace::agent
