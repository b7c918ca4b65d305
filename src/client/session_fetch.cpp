// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "client/session.hpp"
#include "client/trace.hpp"

namespace millrace::client {

// Every step brings the size of the file. The step with the end of the file has waited for all pending bytes
// behind it, so no byte lies behind that end.
Status Session::fetch(std::uint32_t file, const std::string& place, Extent extent, Tally& tally) {
  const TraceSpan span("fetch", extent.size());
  std::uint64_t size = 0;
  do {
    const Extent step{extent.begin, extent.begin + std::min(extent.size(), transport::fetch_max_bytes)};
    const Status status = request(transport::Kind::fetch, file, step, tally);
    if (!status.ok()) return status;
    const Result<std::uint64_t> now = parts_.contact->size_of(place);
    if (!now) return now.status();
    size = *now;
    extent.begin = step.end;
  } while (!extent.empty() && extent.begin <= size);
  return {};
}

}  // namespace millrace::client
