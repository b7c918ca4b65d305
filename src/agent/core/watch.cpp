// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/core/watch.hpp"

#include "agent/core/report.hpp"
#include "report/json.hpp"

namespace millrace::agent {

namespace {

constexpr std::uint64_t first_line_ns = 2'000'000'000;  // a longer wait gets a line
constexpr std::uint64_t line_every_ns = 500'000'000;
constexpr std::uint64_t gap_ns = 1'000'000;  // shorter pauses of a phase do not end its span

const char* phase_of(const Phases& at) { return at.settle ? "sync" : at.drain ? "write" : "gather"; }

}  // namespace

void Watch::tell(std::uint64_t now_ns, const std::string& path, const FilePipeline& pipeline,
                 const Requests& requests, std::vector<std::string>& lines) {
  const Phases at = requests.phases();
  const bool waits = at.gather || at.drain || at.settle;
  if (waits && asked_ns_ == 0) {
    asked_ns_ = now_ns;
    bytes_before_ = pipeline.outlet().counters().bytes;
    next_line_ns_ = now_ns + first_line_ns;
  }
  if (asked_ns_ == 0 || (waits && now_ns < next_line_ns_)) return;
  if (waits || told_) {
    const std::uint64_t done = pipeline.outlet().counters().bytes - bytes_before_;
    lines.push_back(report::JsonObject()
                        .put("schema", report_schema)
                        .put("kind", "progress")
                        .put("path", path)
                        .put("stage", phase_of(at))
                        .put("done_bytes", done)
                        .put("total_bytes", done + pipeline.claims().pending_bytes)
                        .put("elapsed_ns", now_ns - asked_ns_)
                        .put("ended", !waits)
                        .text());
  }
  told_ = waits;
  next_line_ns_ = waits ? now_ns + line_every_ns : UINT64_MAX;
  if (!waits) asked_ns_ = 0;
}

void Watch::close(Phase phase, const std::string& path, std::vector<Span>& spans) {
  Open& open = open_[static_cast<std::size_t>(phase)];
  spans.push_back({phase, open.begin_ns, open.last_ns, open.bytes, path});
  open.begin_ns = 0;
  open.bytes = 0;
}

// `count`: the bytes that the phase has moved so far.
void Watch::follow(Phase phase, bool now_so, std::uint64_t count, std::uint64_t now_ns,
                   const std::string& path, std::vector<Span>& spans) {
  Open& open = open_[static_cast<std::size_t>(phase)];
  const std::uint64_t moved = count - open.count_before;
  const bool until_now = now_so || open.was_so || moved != 0;
  if (open.begin_ns == 0 && until_now) open.begin_ns = now_ns;
  if (until_now) open.last_ns = now_ns;
  open.bytes += moved;
  open.was_so = now_so;
  open.count_before = count;
  if (open.begin_ns != 0 && now_ns - open.last_ns > gap_ns) close(phase, path, spans);
}

void Watch::look(std::uint64_t now_ns, const std::string& path, const FilePipeline& pipeline,
                 const Requests& requests, const Reads* reads, std::vector<Span>& spans) {
  const Phases at = requests.phases();
  const std::uint64_t in = pipeline.counters().bytes_in;
  const std::uint64_t out = pipeline.outlet().counters().bytes;
  follow(Phase::sort, false, in, now_ns, path, spans);
  follow(Phase::write, !pipeline.departures().empty(), out, now_ns, path, spans);
  follow(Phase::gather, at.gather, 0, now_ns, path, spans);
  follow(Phase::drain, at.drain, 0, now_ns, path, spans);
  follow(Phase::sync, at.settle, 0, now_ns, path, spans);
  if (reads != nullptr) follow(Phase::read, !reads->empty(), reads->counters().bytes_in, now_ns, path, spans);
}

void Watch::end(const std::string& path, std::vector<Span>& spans) {
  for (std::size_t phase = 0; phase < phase_count; ++phase) {
    if (open_[phase].begin_ns != 0) close(static_cast<Phase>(phase), path, spans);
  }
}

}  // namespace millrace::agent
