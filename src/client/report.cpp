// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/report.hpp"

#include <unistd.h>

#include <vector>

#include "client/job.hpp"
#include "report/json.hpp"

namespace millrace::client {

std::string to_json(const FileReport& report) {
  const transport::ClientCounters& c = report.counters;
  std::vector<std::string> reasons;
  if (!report.why_pipeline.empty()) reasons.push_back("pipeline: " + report.why_pipeline);
  if (!report.why_direct.empty()) reasons.push_back("direct: " + report.why_direct);
  report::JsonObject json;
  json.put("schema", 1).put("kind", "client").put("path", report.path);
  json.put("rank", launcher_rank()).put("pid", ::getpid());
  json.put("strategy", name_of(report.strategy)).put("reason", reasons);
  json.put("calls", c.calls).put("direct_calls", c.direct_calls).put("pieces", c.pieces);
  json.put("bytes", c.bytes).put("direct_bytes", c.direct_bytes);
  json.put("reads", report.reads).put("read_bytes", report.read_bytes);
  json.put("through_lists", report.through.lists).put("through_bytes", report.through.bytes);
  json.put("guessed_bytes", report.through.guessed_bytes).put("wrong_bytes", report.through.wrong_bytes);
  json.put("copy_ns", c.copy_ns).put("wait_ns", c.wait_ns).put("flushes", report.flushes);
  json.put("expected_direct_ns", report.expected.direct_ps / 1000);
  json.put("expected_pipeline_ns", report.expected.pipeline_ps / 1000);
  if (!report.through.error.ok()) json.put("through_error", report.through.error.describe());
  if (!report.status.ok()) json.put("error", report.status.describe());
  return json.text();
}

}  // namespace millrace::client
