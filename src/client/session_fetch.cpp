// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "client/session.hpp"
#include "client/trace.hpp"

namespace millrace::client {

// Every step brings the size of the file along. One that the file ends in has waited for all that is pending
// behind it, so that nothing lies behind the end.
Status Session::fetch(std::uint32_t file, const std::string& place, Extent extent, Tally& tally) {
  const TraceSpan span("fetch", extent.size());
  struct stat about {};
  do {
    const Extent step{extent.begin, extent.begin + std::min(extent.size(), transport::fetch_max_bytes)};
    const Status status = request(transport::Kind::fetch, file, step, tally);
    if (!status.ok()) return status;
    if (::stat(place.c_str(), &about) != 0) return Status::from_errno(errno);
    extent.begin = step.end;
  } while (!extent.empty() && extent.begin <= static_cast<std::uint64_t>(about.st_size));
  return {};
}

}  // namespace millrace::client
