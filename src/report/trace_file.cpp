// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "report/trace_file.hpp"

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fd.hpp"

namespace millrace::report {

namespace {

constexpr std::size_t text_max = 64 * 1024;

double microseconds(std::uint64_t ns) { return static_cast<double>(ns) / 1e3; }

}  // namespace

TraceFile::TraceFile(const std::string& directory, std::string_view prefix, std::string_view process_name) {
  if (directory.empty()) return;
  utsname node{};
  (void)::uname(&node);
  path_ = directory + "/" + std::string(prefix) + "-" + node.nodename + "-" + std::to_string(::getpid()) +
          ".json";
  text_ = "[\n";
  meta("process_name", 0, JsonObject().put("name", process_name));
}

void TraceFile::name_row(int row, std::string_view name) {
  meta("thread_name", row, JsonObject().put("name", name));
}

void TraceFile::fact(std::string_view name, const JsonObject& details) { meta(name, 0, details); }

void TraceFile::meta(std::string_view what, int row, const JsonObject& details) {
  line(JsonObject()
           .put("ph", "M")
           .put("name", what)
           .put("pid", ::getpid())
           .put("tid", row)
           .put("args", details));
}

void TraceFile::span(int row, std::string_view name, std::uint64_t begin_ns, std::uint64_t end_ns,
                     const JsonObject& details) {
  JsonObject event;
  event.put("ph", "X").put("cat", "millrace").put("name", name).put("pid", ::getpid()).put("tid", row);
  event.put("ts", microseconds(begin_ns)).put("dur", microseconds(end_ns - begin_ns)).put("args", details);
  line(event);
}

void TraceFile::line(const JsonObject& event) {
  if (!on()) return;
  text_ += event.text() + ",\n";
  if (text_.size() >= text_max) flush();
}

void TraceFile::flush() {
  if (!on() || text_.empty()) return;
  const Fd file(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644));
  for (std::size_t done = 0; file.valid() && done < text_.size();) {
    const ssize_t wrote = ::write(file.get(), text_.data() + done, text_.size() - done);
    if (wrote <= 0) break;
    done += static_cast<std::size_t>(wrote);
  }
  text_.clear();
}

}  // namespace millrace::report
