// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/report.hpp"

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/fd.hpp"
#include "client/job.hpp"

namespace millrace::client {

namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", byte);
      out += code;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

const char* name_of(Strategy strategy) {
  switch (strategy) {
    case Strategy::automatic:
      return "auto";
    case Strategy::immediate:
      return "immediate";
    case Strategy::sort:
      return "sort";
    case Strategy::journal:
      return "journal";
  }
  return "unknown";
}

}  // namespace

std::string to_json(const FileReport& report) {
  const transport::ClientCounters& c = report.counters;
  std::string out = "{\"schema\":1,\"kind\":\"client\",\"path\":" + quoted(report.path);
  const auto number = [&out](const char* name, std::uint64_t value) {
    out += std::string(",\"") + name + "\":" + std::to_string(value);
  };
  out += ",\"rank\":" + std::to_string(launcher_rank());
  number("pid", static_cast<std::uint64_t>(::getpid()));
  out += std::string(",\"strategy\":\"") + name_of(report.strategy) + "\",\"reason\":[";
  if (!report.why_pipeline.empty()) out += quoted("pipeline: " + report.why_pipeline);
  if (!report.why_pipeline.empty() && !report.why_direct.empty()) out += ",";
  if (!report.why_direct.empty()) out += quoted("direct: " + report.why_direct);
  out += "]";
  number("calls", c.calls);
  number("direct_calls", c.direct_calls);
  number("pieces", c.pieces);
  number("bytes", c.bytes);
  number("direct_bytes", c.direct_bytes);
  number("copy_ns", c.copy_ns);
  number("wait_ns", c.wait_ns);
  number("flushes", report.flushes);
  number("expected_direct_ns", report.expected.direct_ps / 1000);
  number("expected_pipeline_ns", report.expected.pipeline_ps / 1000);
  if (!report.status.ok()) out += ",\"error\":" + quoted(report.status.describe());
  return out + "}";
}

void append_line(const std::string& path, const std::string& line) {
  if (path.empty()) return;
  constexpr int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC;
  Fd file(::open(path.c_str(), flags, 0644));
  utsname node{};
  if (!file.valid() && errno == EISDIR && ::uname(&node) == 0)
    file = Fd(::open((path + "/" + node.nodename + ".jsonl").c_str(), flags, 0644));
  const std::string text = line + "\n";
  // Best effort: a failed report must not hurt the program.
  if (file.valid() && ::write(file.get(), text.data(), text.size()) < 0) return;
}

}  // namespace millrace::client
