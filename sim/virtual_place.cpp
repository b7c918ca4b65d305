// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "virtual_place.hpp"

#include <algorithm>
#include <utility>

#include "cluster.hpp"
#include "times.hpp"

namespace millrace::sim {

Result<client::AgentAddress> VirtualPlace::meet() {
  client::Session* const session = process_.joined();
  if (session == nullptr) return Code::lost_agent;
  const Result<std::uint16_t> port = session->meet();
  if (!port) return port.status();
  return io::VirtualNet::address_of(node_, *port);
}

client::AgentAddress VirtualPlace::met() {
  const client::Session* const session = process_.joined();
  const bool known = session != nullptr && !session->lost() && session->met() != 0;
  return known ? io::VirtualNet::address_of(node_, session->met()) : client::AgentAddress{};
}

// A handshake crosses the network twice. TCP sends a lost one again after a second.
bool VirtualPlace::reaches(std::span<const client::AgentAddress> agents) {
  for (const std::uint64_t wait_ns : {2 * cluster_.scenario.net.latency_ns, second, second}) {
    process_.seat().sleep_until(process_.now_ns() + wait_ns);
    if (std::ranges::all_of(agents, [this](const client::AgentAddress& agent) {
          const std::uint32_t there = io::VirtualNet::node_of(agent);
          return cluster_.nodes[there]->alive() && !cluster_.world.net.is_cut(node_, there);
        }))
      return true;
  }
  return false;
}

bool VirtualPlace::draw(std::span<std::byte> random) {
  for (std::byte& byte : random) byte = static_cast<std::byte>(cluster_.world.timeline.below(256));
  return true;
}

// All nodes see the file on a network file system. In some runs the first node has its bytes.
client::Sight VirtualPlace::look(const client::TargetFile&) {
  return {true, cluster_.world.disk.contents(0).size(), cluster_.scenario.reads.meets_late ? 1U : 0U,
          cluster_.scenario.plan.stripe_bytes};
}

client::Costs VirtualPlace::costs_of(const client::TargetFile&) {
  client::Costs known;
  if (cluster_.scenario.agents.start) known.call_ps = cluster_.scenario.agents.start->call_ps;
  if (cluster_.scenario.agents.start) known.start_ps = cluster_.scenario.agents.start->costs_ps;
  // Large pieces take the pipeline too, because the run tests the agents.
  if (cluster_.scenario.settings.strategy == Strategy::sort) known.call_ps = 1'000'000'000'000;
  return known;
}

Result<std::unique_ptr<client::Source>> VirtualPlace::open_source(const std::string&) {
  return std::unique_ptr<client::Source>(
      std::make_unique<VirtualSource>(staging_->original, process_, cluster_.world.timeline));
}

std::string VirtualPlace::stage_directory() { return cluster_.file.folder(); }

std::uint64_t VirtualPlace::size_of(const Fd& copy) { return cluster_.world.disk.contents(copy).size(); }

Fd VirtualPlace::open_copy(const std::string& path) {
  Fd copy = client::open_copy(path);
  held_ = std::make_unique<Held>(process_, copy);
  if (staging_ == nullptr) return copy;  // a stand-in
  Fd& kept = staging_->copies[node_].file;
  if (!kept.valid()) kept = client::open_copy(path);
  return copy;
}

// The agents carry small reads too, because the run tests them.
std::unique_ptr<client::File> VirtualPlace::open(client::OpenRequest request) {
  request.leaves_small = false;
  return client::open(std::move(request), process_);
}

}  // namespace millrace::sim
