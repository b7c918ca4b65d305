// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "ior.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <random>
#include <utility>

namespace millrace::sim {

namespace {

struct Name {
  std::string_view name;
  std::function<void(Ior&, std::uint64_t)> set;
};

template <class Number>
std::uint64_t put(Number& to, std::uint64_t value) {
  return to = static_cast<Number>(value);
}

const std::vector<Name>& table() {
  static const std::vector<Name> names = {
      {"transfer", [](Ior& i, auto v) { put(i.transfer, v); }},
      {"block", [](Ior& i, auto v) { put(i.block, v); }},
      {"segments", [](Ior& i, auto v) { put(i.segments, v); }},
      {"random", [](Ior& i, auto v) { i.random = v != 0; }},
      {"seed", [](Ior& i, auto v) { put(i.machine.seed, v); }},
      {"nodes", [](Ior& i, auto v) { put(i.machine.nodes, v); }},
      {"ranks_per_node", [](Ior& i, auto v) { put(i.machine.ranks_per_node, v); }},
      {"servers", [](Ior& i, auto v) { put(i.machine.plan.lanes, v); }},
      {"stripe", [](Ior& i, auto v) { put(i.machine.plan.stripe_bytes, v); }},
      {"sort_buffer", [](Ior& i, auto v) { put(i.machine.settings.sort_buffer_bytes, v); }},
      {"ring", [](Ior& i, auto v) { put(i.machine.ranks.ring_bytes, v); }},
      {"link_bytes_per_second", [](Ior& i, auto v) { put(i.machine.net.rate_bytes_per_second, v); }},
      {"link_latency_ns", [](Ior& i, auto v) { put(i.machine.net.latency_ns, v); }},
      {"disk_bytes_per_second", [](Ior& i, auto v) { put(i.machine.disk.rate_bytes_per_second, v); }},
      {"disk_sync_ns", [](Ior& i, auto v) { put(i.machine.disk.sync_ns, v); }},
      {"copy_bytes_per_second", [](Ior& i, auto v) { put(i.machine.disk.copy_bytes_per_second, v); }},
      {"take_bytes_per_second", [](Ior& i, auto v) { put(i.machine.agents.cpu_bytes_per_second, v); }},
      {"cores", [](Ior& i, auto v) { put(i.machine.costs.cores, v); }},
      {"record_ps", [](Ior& i, auto v) { put(i.machine.costs.record_ps, v); }},
      {"net_byte_ps", [](Ior& i, auto v) { put(i.machine.costs.net_byte_ps, v); }},
      {"disk_byte_ps", [](Ior& i, auto v) { put(i.machine.costs.disk_byte_ps, v); }},
      {"rank_record_ps", [](Ior& i, auto v) { put(i.machine.costs.rank_record_ps, v); }},
      {"rank_byte_ps", [](Ior& i, auto v) { put(i.machine.costs.rank_byte_ps, v); }},
  };
  return names;
}

}  // namespace

Ior::Ior() {
  machine.seed = 1;
  machine.nodes = 4;
  machine.ranks_per_node = 4;
  const Settings shipped;
  machine.settings = shipped.file;
  machine.ranks.ring_bytes = transport::rank_ring_bytes;
  machine.most_steps = 1'000'000'000;
  machine.ranks.settings.direct_above_bytes = UINT64_MAX;  // the run measures the pipeline
  machine.plan = {Topology::direct, 1, 4 * MiB};
  machine.net.segment_bytes = 64 * KiB;
  machine.disk.cache_bytes = GiB;
  machine.disk.seek_ns = 0;
}

bool Ior::set(std::string_view assignment) {
  const std::size_t sign = assignment.find('=');
  if (sign == std::string_view::npos) return false;
  const std::string_view name = assignment.substr(0, sign), value = assignment.substr(sign + 1);
  for (const Topology one : {Topology::direct, Topology::ring, Topology::tree}) {
    if (name != "topology" || value != name_of(one)) continue;
    machine.plan.topology = one;
    return true;
  }
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(value.begin(), value.end(), number);
  if (error != std::errc() || end != value.end()) return false;
  const auto known = std::ranges::find(table(), name, &Name::name);
  if (known == table().end()) return false;
  known->set(*this, number);
  return true;
}

std::string Ior::names() {
  std::string text = "topology";
  for (const Name& one : table()) text += " " + std::string(one.name);
  return text;
}

Scenario make_ior(const Ior& ior) {
  Scenario made = ior.machine;
  made.plan.lanes = std::clamp<std::uint32_t>(made.plan.lanes, 1, made.nodes);
  const std::uint64_t ranks = std::uint64_t{made.nodes} * made.ranks_per_node;
  made.file_bytes = ranks * ior.block * ior.segments;
  made.programs.resize(ranks);
  std::mt19937_64 chance(made.seed);
  for (std::uint64_t rank = 0; rank < ranks; ++rank) {
    std::vector<std::uint64_t> offsets;
    for (std::uint64_t segment = 0; segment < ior.segments; ++segment) {
      for (std::uint64_t at = 0; at < ior.block; at += ior.transfer)
        offsets.push_back((segment * ranks + rank) * ior.block + at);
    }
    // Not std::shuffle, whose result differs between libraries.
    for (std::size_t i = offsets.size(); ior.random && i > 1; --i)
      std::swap(offsets[i - 1], offsets[chance() % i]);
    for (const std::uint64_t offset : offsets)
      made.programs[rank].push_back({Step::Kind::write, 1, {offset, offset + ior.transfer}});
    if (ior.syncs) made.programs[rank].push_back({Step::Kind::sync});
    made.programs[rank].push_back({Step::Kind::close});
  }
  return made;
}

}  // namespace millrace::sim
