// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/session/trace.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <mutex>
#include <vector>

#include "report/trace_file.hpp"
#include "transport/memory.hpp"

namespace millrace::client {

bool tracing = false;

namespace {

constexpr std::size_t max_spans = 1u << 17;  // 4 MiB; further spans are only counted

struct Span {
  const char* name;
  std::uint64_t begin_ns;
  std::uint64_t end_ns;
  std::uint32_t thread;
  std::uint64_t bytes;
};

struct Trace {
  std::timed_mutex mutex;
  std::string folder;
  std::vector<Span> spans;
  std::uint64_t dropped = 0;
};

Trace& trace() {
  static Trace& one = *new Trace;  // lives as long as the process: spans may end in exit handlers
  return one;
}

}  // namespace

std::uint64_t trace_now() { return transport::now_ns(); }

void trace_begin(const std::string& folder) {
  if (folder.empty()) return;
  trace().folder = folder;
  trace().spans.reserve(4096);
  tracing = true;
}

void trace_add(const char* name, std::uint64_t begin_ns, std::uint64_t end_ns, std::uint64_t bytes) {
  static thread_local const auto thread = static_cast<std::uint32_t>(::syscall(SYS_gettid));
  const std::lock_guard lock(trace().mutex);
  if (trace().spans.size() < max_spans) {
    trace().spans.push_back({name, begin_ns, end_ns, thread, bytes});
  } else {
    ++trace().dropped;
  }
}

void trace_end(int rank) {
  if (!tracing) return;
  const std::unique_lock lock(trace().mutex, std::chrono::seconds(1));
  if (!lock) return;  // a signal has ended the program within trace_add()
  report::TraceFile file(trace().folder, "millrace", "rank " + std::to_string(rank));
  for (const Span& span : trace().spans) {
    file.span(static_cast<int>(span.thread), span.name, span.begin_ns, span.end_ns,
              report::JsonObject().put("bytes", span.bytes));
  }
  if (trace().dropped > 0) file.fact("dropped_spans", report::JsonObject().put("count", trace().dropped));
  file.flush();
}

}  // namespace millrace::client
