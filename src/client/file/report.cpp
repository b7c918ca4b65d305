// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/file/report.hpp"

#include <unistd.h>

#include <vector>

#include "client/start/job.hpp"
#include "report/json.hpp"

namespace millrace::client {

namespace {

report::JsonObject described(const char* way, const Ground& ground, bool pipeline, bool measured) {
  const ReasonText& text = text_of(ground.reason);
  report::JsonObject json;
  json.put("way", way).put("reason", text.text).put("setting", setting_for(ground, pipeline));
  if (ground.piece_bytes != 0) json.put("piece_bytes", ground.piece_bytes);
  if (text.unit == Unit::none || ground.value == 0) return json;
  json.put("value", ground.value).put("bound", ground.bound).put("unit", name_of(text.unit));
  if (text.unit == Unit::ns || text.unit == Unit::ns_saved)
    json.put("costs", measured ? "measured" : "typical");
  return json;
}

// Why the agents carry no more reads of a file. The rank reads the file itself, so no byte is missing.
std::string words_of_reads(Status why) {
  switch (why.code()) {
    case Code::lost_agent:
      return "the Millrace agent of this node has gone";
    case Code::lost_peer:
      return "the agent of another node has gone or cannot be reached";
    case Code::timeout:
      return "the Millrace agent made no progress within MILLRACE_TIMEOUT";
    case Code::corrupt:
      return "a checksum does not match: bytes were damaged on their way to this rank";
    case Code::io:
      return "the agent of the file server could not read the file";
    default:
      return why.describe();
  }
}

}  // namespace

std::string to_json(const FileReport& report) {
  const transport::ClientCounters& c = report.counters;
  const CallCounts& counts = report.counts;
  const OpenRequest& request = report.request;
  Ground direct = counts.why_direct.load();
  if (direct.reason == Reason::none) direct = {report.barred};
  std::vector<std::string> reasons;
  std::vector<report::JsonObject> grounds;
  const auto add = [&](const char* way, const Ground& ground, bool pipeline) {
    if (ground.reason == Reason::none) return;
    reasons.push_back(std::string(way) + ": " + std::string(text_of(ground.reason).text));
    grounds.push_back(described(way, ground, pipeline, request.costs.measured()));
  };
  add("pipeline", counts.why_pipeline.load(), true);
  add("direct", direct, false);
  add("read through agents", counts.why_through.load(), true);
  add("read by the library", counts.why_not_through.load(), false);
  report::JsonObject json;
  json.put("schema", 1).put("kind", "client").put("path", request.path);
  json.put("rank", launcher_rank()).put("pid", ::getpid());
  json.put("group", request.group).put("registered", report.registered);
  json.put("strategy", name_of(request.settings.strategy)).put("reason", reasons).put("grounds", grounds);
  json.put("calls", c.calls).put("direct_calls", c.direct_calls).put("pieces", c.pieces);
  json.put("bytes", c.bytes).put("direct_bytes", c.direct_bytes);
  json.put("reads", counts.reads.load()).put("read_bytes", counts.read_bytes.load());
  json.put("through_lists", report.through.lists).put("through_bytes", report.through.bytes);
  json.put("guessed_bytes", report.through.guessed_bytes).put("wrong_bytes", report.through.wrong_bytes);
  json.put("copy_ns", c.copy_ns).put("wait_ns", c.wait_ns).put("flushes", counts.flushes.load());
  json.put("expected_direct_ns", counts.expected_direct_ps.load() / 1000);
  json.put("expected_pipeline_ns", counts.expected_pipeline_ps.load() / 1000);
  if (!report.through.error.ok())
    json.put("through_error", words_of_reads(report.through.error) + "; the rank read the file itself");
  if (!report.status.ok()) json.put("error", report.status.describe());
  return json.text();
}

}  // namespace millrace::client
