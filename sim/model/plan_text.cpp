// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "plan_text.hpp"

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "flows.hpp"
#include "pipeline.hpp"

namespace millrace::model {

namespace {

using Words = std::vector<std::string>;

std::uint64_t number(const std::string& word) {
  std::size_t used = 0;
  unsigned long long value = 0;
  try {
    value = std::stoull(word, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used == 0 || used != word.size() || word.front() == '-')
    throw PlanError("'" + word + "' is not a whole number");
  return value;
}

// The next line that is not empty; false: there is none, or it ends the plan.
bool next_line(std::istream& from, Words& words) {
  for (std::string line; std::getline(from, line);) {
    std::istringstream parts(line);
    words.clear();
    for (std::string word; parts >> word;) words.push_back(word);
    if (!words.empty()) return words.front() != "end";
  }
  words.clear();
  return false;
}

void need(const Words& words, std::size_t count) {
  if (words.size() < count) throw PlanError("'" + words.front() + "' needs more words");
}

Stage read_stage(const FlowPlan& plan, const Words& words) {
  Stage stage;
  for (std::size_t at = 1; at + 2 < words.size(); at += 3) {
    const auto station = std::ranges::find(plan.stations, words[at], &NamedStation::name);
    if (station == plan.stations.end()) throw PlanError("no station is named '" + words[at] + "'");
    stage.push_back({static_cast<std::size_t>(station - plan.stations.begin()), number(words[at + 1]),
                     number(words[at + 2])});
  }
  return stage;
}

FlowPlan read_flows(std::istream& from) {
  FlowPlan plan;
  for (Words words; next_line(from, words);) {
    const std::string& what = words.front();
    if (what == "station") {
      need(words, 6);
      const auto slots = static_cast<std::uint32_t>(number(words[2]));
      plan.stations.push_back({words[1], {slots, number(words[3]), number(words[4]), number(words[5])}});
    } else if (what == "flow") {
      need(words, 2);
      plan.flows.push_back({static_cast<std::uint32_t>(number(words[1])), {}});
    } else if (what == "step" && !plan.flows.empty()) {
      need(words, 2);
      if (number(words[1]) == 0) throw PlanError("a step is taken at least once");
      plan.flows.back().steps.push_back({number(words[1]), {}});
    } else if (what == "stage" && !plan.flows.empty() && !plan.flows.back().steps.empty()) {
      need(words, 4);
      plan.flows.back().steps.back().stages.push_back(read_stage(plan, words));
    } else {
      throw PlanError("'" + what + "' is not known here");
    }
  }
  return plan;
}

template <typename Enum>
Enum choice(const std::string& word, std::initializer_list<std::pair<const char*, Enum>> known) {
  for (const auto& [name, value] : known)
    if (word == name) return value;
  throw PlanError("'" + word + "' is not one of the choices");
}

PipelinePlan read_pipeline(std::istream& from) {
  PipelinePlan plan;
  Pattern& pattern = plan.pattern;
  std::uint64_t merge = 0, nodes = plan.nodes, ranks = plan.ranks_per_node;
  const std::map<std::string, std::uint64_t*> numbers = {
      {"nodes", &nodes},
      {"ranks_per_node", &ranks},
      {"merge", &merge},
      {"sort_buffer", &plan.sort_buffer},
      {"record_max", &plan.record_max},
      {"transfer", &pattern.transfer},
      {"block", &pattern.block},
      {"segments", &pattern.segments},
      {"grid", &pattern.grid},
      {"outputs", &pattern.outputs},
      {"compute_ns", &plan.compute_ns},
      {"open_ns", &plan.open_ns},
      {"request_ns", &plan.client.request_ns},
      {"record_ns", &plan.client.record_ns},
      {"byte_ps", &plan.client.byte_ps},
      {"grain", &plan.client.grain},
      {"link_bytes_per_second", &plan.link.bytes_per_second},
      {"link_latency_ns", &plan.link.latency_ns},
      {"link_piece_ns", &plan.link.piece_ns},
      {"window", &plan.link.window},
      {"server_record_ns", &plan.server.record_ns},
      {"server_byte_ps", &plan.server.byte_ps},
      {"server_buffers", &plan.server.buffers},
      {"sync_every", &plan.server.sync_every},
      {"disk_bytes_per_second", &plan.server.disk_bytes_per_second},
      {"seek_ns", &plan.server.seek_ns},
      {"page", &plan.server.page},
  };
  for (Words words; next_line(from, words);) {
    need(words, 2);
    if (words[0] == "strategy") {
      plan.strategy = choice<Strategy>(
          words[1],
          {{"immediate", Strategy::immediate}, {"sort", Strategy::sort}, {"journal", Strategy::journal}});
    } else if (words[0] == "pattern") {
      pattern.kind = choice<PatternKind>(words[1], {{"ior", PatternKind::ior},
                                                    {"btio-simple", PatternKind::btio_simple},
                                                    {"btio-full", PatternKind::btio_full}});
    } else if (const auto found = numbers.find(words[0]); found != numbers.end()) {
      *found->second = number(words[1]);
    } else {
      throw PlanError("'" + words[0] + "' is not known here");
    }
  }
  plan.merge = merge != 0;
  plan.nodes = static_cast<std::uint32_t>(nodes);
  plan.ranks_per_node = static_cast<std::uint32_t>(ranks);
  return plan;
}

// Refuses values that would cause a division by zero, or a run without end.
void check(const PipelinePlan& plan) {
  const Pattern& pattern = plan.pattern;
  if (plan.nodes == 0 || plan.ranks_per_node == 0) throw PlanError("nodes and ranks_per_node are at least 1");
  if (plan.record_max == 0 || plan.server.page == 0 || plan.client.grain == 0 || plan.link.window == 0 ||
      plan.server.sync_every == 0 || plan.server.buffers == 0)
    throw PlanError("record_max, page, grain, window, sync_every and server_buffers are at least 1");
  if (plan.strategy != Strategy::immediate && plan.sort_buffer < plan.record_max)
    throw PlanError("the sort buffer holds less than a record");
  if (pattern.kind == PatternKind::ior && (pattern.transfer == 0 || pattern.block % pattern.transfer != 0))
    throw PlanError("block is a multiple of transfer");
}

void write(std::ostream& to, const FlowResult& result) {
  to << R"({"end_ns": )" << result.end_ns << R"(, "events": )" << result.events << R"(, "rank_end_ns": [)";
  for (std::size_t i = 0; i < result.rank_end_ns.size(); ++i) to << (i ? ", " : "") << result.rank_end_ns[i];
  to << R"(], "stations": [)";
  for (std::size_t i = 0; i < result.stations.size(); ++i) {
    const StationUse& one = result.stations[i];
    to << (i ? ", " : "") << R"({"name": ")" << one.name << R"(", "slots": )" << one.slots
       << R"(, "busy_ns": )" << one.busy_ns << R"(, "bytes": )" << one.bytes << "}";
  }
  to << "]}\n";
}

void write(std::ostream& to, const PipelineResult& result) {
  to << R"({"bytes": )" << result.bytes << R"(, "end_ns": )" << result.end_ns << R"(, "compute_ns": )"
     << result.compute_ns << R"(, "records": )" << result.records << R"(, "gaps": )" << result.gaps
     << R"(, "seeks": )" << result.seeks << R"(, "journaled": )" << result.journaled
     << R"(, "disk_busy_ns": )" << result.disk_busy_ns << R"(, "events": )" << result.events << "}\n";
}

}  // namespace

void answer(std::istream& plans, std::ostream& answers) {
  for (Words words; next_line(plans, words);) {
    if (words.front() == "flows") {
      write(answers, run(read_flows(plans)));
    } else if (words.front() == "pipeline") {
      const PipelinePlan plan = read_pipeline(plans);
      check(plan);
      write(answers, run(plan));
    } else {
      throw PlanError("a plan begins with flows or pipeline, not with '" + words.front() + "'");
    }
    answers.flush();
  }
}

}  // namespace millrace::model
