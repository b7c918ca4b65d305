// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/server/trace.hpp"

#include <array>

namespace millrace::agent {

namespace {

// By phase.
constexpr std::array<const char*, phase_count> names{"sort and merge", "storage write", "gather",
                                                     "drain",          "sync",          "storage read"};

const char* name_of(Phase phase) { return names[static_cast<std::size_t>(phase)]; }

}  // namespace

int SpanTrace::row(const Span& span) {
  const auto [place, fresh] = rows_.try_emplace({span.path, span.phase}, static_cast<int>(rows_.size()) + 1);
  if (fresh) {
    const std::string file = span.path.substr(span.path.rfind('/') + 1);
    file_.name_row(place->second, file + ": " + name_of(span.phase));
  }
  return place->second;
}

void SpanTrace::add(const std::vector<Span>& spans) {
  for (const Span& span : spans) {
    file_.span(row(span), name_of(span.phase), span.begin_ns, span.end_ns,
               report::JsonObject().put("file", span.path).put("bytes", span.bytes));
  }
}

}  // namespace millrace::agent
