// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/server/trace.hpp"

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/fd.hpp"

namespace millrace::agent {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t text_max = 64 * 1024;

const char* name_of(Stage stage) {
  switch (stage) {
    case Stage::sort:
      return "sort and merge";
    case Stage::write:
      return "storage write";
    case Stage::gather:
      return "gather";
    case Stage::drain:
      return "drain";
    case Stage::sync:
      return "sync";
  }
  return "unknown";
}

std::string line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + ",\n";
}

Json named(const char* what, int lane, const std::string& name) {
  return {{"ph", "M"}, {"name", what}, {"pid", ::getpid()}, {"tid", lane}, {"args", {{"name", name}}}};
}

}  // namespace

Trace::Trace(const std::string& directory) {
  if (directory.empty()) return;
  utsname node{};
  (void)::uname(&node);
  path_ = directory + "/millrace-agent-" + node.nodename + "-" + std::to_string(::getpid()) + ".json";
  text_ = "[\n" + line(named("process_name", 0, "agent"));
}

int Trace::lane(const Span& span) {
  const auto [place, fresh] =
      lanes_.try_emplace({span.path, span.stage}, static_cast<int>(lanes_.size()) + 1);
  if (fresh) {
    const std::string file = span.path.substr(span.path.rfind('/') + 1);
    text_ += line(named("thread_name", place->second, file + ": " + name_of(span.stage)));
  }
  return place->second;
}

void Trace::add(const std::vector<Span>& spans) {
  for (const Span& span : spans) {
    const int tid = lane(span);
    text_ += line({{"ph", "X"},
                   {"cat", "millrace"},
                   {"name", name_of(span.stage)},
                   {"pid", ::getpid()},
                   {"tid", tid},
                   {"ts", static_cast<double>(span.begin_ns) / 1e3},
                   {"dur", static_cast<double>(span.end_ns - span.begin_ns) / 1e3},
                   {"args", {{"file", span.path}, {"bytes", span.bytes}}}});
  }
  if (text_.size() >= text_max) flush();
}

void Trace::flush() {
  if (!on() || text_.empty()) return;
  const Fd file(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644));
  // Best effort: a trace that can't be written must not hurt the data.
  if (file.valid() && ::write(file.get(), text_.data(), text_.size()) < 0) path_.clear();
  text_.clear();
}

}  // namespace millrace::agent
