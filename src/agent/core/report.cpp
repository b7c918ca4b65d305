// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/core/report.hpp"

#include <nlohmann/json.hpp>

namespace millrace::agent {

namespace {

using Json = nlohmann::ordered_json;

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
  return {{"opens", requests.members().ranks_seen()},
          {"members", members},
          {"agents_upstream", requests.members().upstreams_seen()},
          {"calls", c.calls},
          {"direct_calls", c.direct_calls},
          {"pieces", c.pieces},
          {"bytes", c.bytes},
          {"direct_bytes", c.direct_bytes},
          {"copy_ns", c.copy_ns},
          {"wait_ns", c.wait_ns}};
}

Json agent_part(const FilePipeline& pipeline) {
  const PipelineCounters& p = pipeline.counters();
  const sink::SinkCounters& s = pipeline.outlet().counters();
  return {{"records_in", p.records_in},
          {"bytes_in", p.bytes_in},
          {"mean_bytes_in", mean(p.bytes_in, p.records_in)},
          {"records_dropped", p.records_dropped},
          {"extents", pipeline.departures().extents_out()},
          {"extent_bytes", pipeline.departures().bytes_out()},
          {"evictions", p.evictions},
          {"complete_chunks", p.complete_chunks},
          {"journaled_bytes", p.journaled_bytes},
          {"noted_extents", p.noted_extents},
          {"noted_bytes", p.noted_bytes},
          {"writes_out", s.writes},
          {"bytes_out", s.bytes},
          {"direct_bytes_out", s.direct_bytes},
          {"mean_bytes_out", mean(s.bytes, s.writes)},
          {"seeks", s.seeks},
          {"writebacks", s.writebacks},
          {"datasyncs", s.datasyncs}};
}

Json reads_part(const Reads& reads) {
  const ReadsCounters& r = reads.counters();
  return {{"lists", r.lists}, {"requests", r.requests}, {"bytes_in", r.bytes_in}, {"bytes_out", r.bytes_out}};
}

Json time_part(const FilePipeline& pipeline, const Requests& requests) {
  const RequestCounters& r = requests.counters();
  return {{"storage_busy_ns", pipeline.counters().storage_busy_ns},
          {"gather_ns", r.gather_ns},
          {"drain_ns", r.drain_ns},
          {"sync_ns", r.sync_ns}};
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
  Json json = {
      {"schema", report_schema},
      {"kind", "agent_file"},
      {"path", file.path},
      {"strategy", name_of(used.strategy)},
      {"why", why(file.asked, used, problem)},
      {"merge", used.strategy != Strategy::immediate && merges(used)},
      {"durability", name_of(used.durability)},
      {"sink", pipeline.carries() ? "next agent"
               : pipeline.outlet().direct()
                   ? (used.sink == SinkMode::direct ? "direct" : "buffered and direct")
                   : "buffered"},
      {"groups", requests.members().known_groups()},
      {"lane", lane},
      {"lanes", file.lanes.size()},
      {"node", file.node},
      {"nodes", file.nodes},
      {"sort_buffer_bytes", pool.capacity_bytes()},
      {"record_max_bytes", used.record_max_bytes},
      {"error", file.reads_only || pipeline.error().ok() ? "" : pipeline.error().describe()},
      {"ranks", ranks_part(requests, file.ranks)},
      {"agent", agent_part(pipeline)},
      {"requests", {{"flushes", r.flushes}, {"syncs", r.syncs}, {"closes", r.closes}}},
      {"time", time_part(pipeline, requests)},
      {"memory", {{"peak_buffer_bytes", pool.peak_bytes()}, {"peak_metadata_bytes", pool.metadata_bytes()}}},
  };
  if (!ledger_problem.empty()) json["journal_problem"] = ledger_problem;
  const Reads* const reads = file.lanes[lane]->reads.get();
  if (reads != nullptr && reads->counters().lists > 0) json["reads"] = reads_part(*reads);
  if (file.nodes > 1) json["topology"] = name_of(file.topology);
  // Paths are bytes, not text: this replaces bytes that are not UTF-8.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace millrace::agent
