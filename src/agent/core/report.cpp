// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/core/report.hpp"

#include "report/json.hpp"

namespace millrace::agent {

namespace {

using Json = report::JsonObject;

std::string why(const FileSettings& asked, const FileSettings& used, const std::string& problem) {
  if (!problem.empty()) return problem;
  if (asked.strategy != used.strategy) return "the file was open already, with another strategy";
  if (used.strategy == Strategy::automatic) return "default: sort and merge; complete chunks leave at once";
  return "asked for";
}

double mean(std::uint64_t sum, std::uint64_t count) {
  return count == 0 ? 0.0 : static_cast<double>(sum) / static_cast<double>(count);
}

Json ranks_part(const Requests& requests, std::uint32_t members) {
  const transport::ClientCounters& c = requests.client_counters();
  return Json()
      .put("opens", requests.members().ranks_seen())
      .put("members", members)
      .put("agents_upstream", requests.members().upstreams_seen())
      .put("calls", c.calls)
      .put("direct_calls", c.direct_calls)
      .put("pieces", c.pieces)
      .put("bytes", c.bytes)
      .put("direct_bytes", c.direct_bytes)
      .put("copy_ns", c.copy_ns)
      .put("wait_ns", c.wait_ns);
}

Json agent_part(const FilePipeline& pipeline) {
  const PipelineCounters& p = pipeline.counters();
  const sink::SinkCounters& s = pipeline.outlet().counters();
  return Json()
      .put("records_in", p.records_in)
      .put("bytes_in", p.bytes_in)
      .put("mean_bytes_in", mean(p.bytes_in, p.records_in))
      .put("records_dropped", p.records_dropped)
      .put("extents", pipeline.departures().extents_out())
      .put("extent_bytes", pipeline.departures().bytes_out())
      .put("evictions", p.evictions)
      .put("complete_chunks", p.complete_chunks)
      .put("journaled_bytes", p.journaled_bytes)
      .put("noted_extents", p.noted_extents)
      .put("noted_bytes", p.noted_bytes)
      .put("writes_out", s.writes)
      .put("bytes_out", s.bytes)
      .put("direct_bytes_out", s.direct_bytes)
      .put("mean_bytes_out", mean(s.bytes, s.writes))
      .put("seeks", s.seeks)
      .put("writebacks", s.writebacks)
      .put("datasyncs", s.datasyncs);
}

Json reads_part(const Reads& reads) {
  const ReadsCounters& r = reads.counters();
  return Json()
      .put("lists", r.lists)
      .put("requests", r.requests)
      .put("bytes_in", r.bytes_in)
      .put("bytes_out", r.bytes_out);
}

Json time_part(const FilePipeline& pipeline, const Requests& requests) {
  const RequestCounters& r = requests.counters();
  return Json()
      .put("storage_busy_ns", pipeline.counters().storage_busy_ns)
      .put("gather_ns", r.gather_ns)
      .put("drain_ns", r.drain_ns)
      .put("sync_ns", r.sync_ns);
}

}  // namespace

std::string make_report(const OpenFile& file, std::uint32_t lane, const BlockPool& pool) {
  const FilePipeline& pipeline = *file.lanes[lane]->pipeline;
  const Requests& requests = file.lanes[lane]->requests;
  const std::string ledger_problem = file.ledger ? file.ledger->problem() : std::string();
  const FileSettings& used = pipeline.settings();
  const RequestCounters& r = requests.counters();
  const std::string problem =
      pipeline.journal().problem().empty() ? ledger_problem : pipeline.journal().problem();
  Json json;
  json.put("schema", report_schema)
      .put("kind", "agent_file")
      .put("path", file.path)
      .put("strategy", name_of(used.strategy))
      .put("why", why(file.asked, used, problem))
      .put("merge", used.strategy != Strategy::immediate && merges(used))
      .put("durability", name_of(used.durability))
      .put("sink", pipeline.carries() ? "next agent"
                   : pipeline.outlet().direct()
                       ? (used.sink == SinkMode::direct ? "direct" : "buffered and direct")
                       : "buffered")
      .put("groups", requests.members().known_groups())
      .put("lane", lane)
      .put("lanes", file.lanes.size())
      .put("node", file.node)
      .put("nodes", file.nodes)
      .put("sort_buffer_bytes", pool.capacity_bytes())
      .put("record_max_bytes", used.record_max_bytes)
      .put("error", file.reads_only || pipeline.error().ok() ? "" : pipeline.error().describe())
      .put("ranks", ranks_part(requests, file.ranks))
      .put("agent", agent_part(pipeline))
      .put("requests", Json().put("flushes", r.flushes).put("syncs", r.syncs).put("closes", r.closes))
      .put("time", time_part(pipeline, requests))
      .put("memory", Json()
                         .put("peak_buffer_bytes", pool.peak_bytes())
                         .put("peak_metadata_bytes", pool.metadata_bytes()));
  if (!ledger_problem.empty()) json.put("journal_problem", ledger_problem);
  const Reads* const reads = file.lanes[lane]->reads.get();
  if (reads != nullptr && reads->counters().lists > 0) json.put("reads", reads_part(*reads));
  if (file.nodes > 1) json.put("topology", name_of(file.topology));
  return json.text();
}

}  // namespace millrace::agent
