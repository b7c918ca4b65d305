// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/trace.hpp"

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <mutex>
#include <vector>

#include "base/fd.hpp"
#include "client/job.hpp"
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
  std::mutex mutex;
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
  static thread_local const auto thread = static_cast<std::uint32_t>(::gettid());
  const std::lock_guard lock(trace().mutex);
  if (trace().spans.size() < max_spans) {
    trace().spans.push_back({name, begin_ns, end_ns, thread, bytes});
  } else {
    ++trace().dropped;
  }
}

void trace_end() {
  if (!tracing) return;
  const std::lock_guard lock(trace().mutex);
  const int pid = ::getpid();
  std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  char line[256];
  std::snprintf(line, sizeof line,
                "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"args\":{\"name\":\"rank %d\"}}", pid,
                launcher_rank());
  text += line;
  for (const Span& span : trace().spans) {
    std::snprintf(line, sizeof line,
                  ",\n{\"ph\":\"X\",\"cat\":\"millrace\",\"name\":\"%s\",\"pid\":%d,\"tid\":%u,\"ts\":%.3f,"
                  "\"dur\":%.3f,"
                  "\"args\":{\"bytes\":%llu}}",
                  span.name, pid, span.thread, static_cast<double>(span.begin_ns) / 1e3,
                  static_cast<double>(span.end_ns - span.begin_ns) / 1e3,
                  static_cast<unsigned long long>(span.bytes));
    text += line;
  }
  text += "\n],\"otherData\":{\"dropped_spans\":" + std::to_string(trace().dropped) + "}}\n";
  utsname node{};
  (void)::uname(&node);
  const std::string path =
      trace().folder + "/millrace-" + node.nodename + "-" + std::to_string(pid) + ".json";
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  for (std::size_t done = 0; file.valid() && done < text.size();) {
    const ssize_t wrote = ::write(file.get(), text.data() + done, text.size() - done);
    if (wrote <= 0) break;
    done += static_cast<std::size_t>(wrote);
  }
}

}  // namespace millrace::client
