// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Cluster: MPI_File_open, with the ranks' agreement by collective calls, as in the front.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "client/file/file.hpp"
#include "cluster.hpp"

namespace millrace::sim {

namespace {

std::array<std::byte, 32> key_of(std::uint64_t seed, std::uint64_t group) {
  std::array<std::byte, 32> key{};
  std::memcpy(key.data(), &seed, sizeof seed);
  std::memcpy(key.data() + sizeof seed, &group, sizeof group);
  return key;
}

}  // namespace

// Each node's first rank asks where its agent listens.
Agreement Cluster::agree() {
  Agreement made;
  made.group = agreements_.size() + 1;
  made.routed = scenario_.nodes > 1 && !scenario_.conduct.apart;
  for (std::uint32_t n = 0; made.routed && n < scenario_.nodes; ++n) {
    const Result<std::uint16_t> port =
        ranks_[std::size_t{n} * scenario_.ranks_per_node].process->session().meet();
    made.addresses.push_back(io::VirtualNet::address_of(n, port ? *port : std::uint16_t{0}));
    if (!port) made.routed = false;
  }
  return made;
}

std::uint32_t Cluster::members_on(std::uint32_t node) const {
  const bool onlooker = scenario_.conduct.onlooker && ranks_[*scenario_.conduct.onlooker].node == node;
  return scenario_.ranks_per_node - (onlooker ? 1 : 0);
}

Status Cluster::open(Rank& rank) {
  if (agreements_.size() == rank.opened) agreements_.push_back(agree());
  const Agreement& opening = agreements_[rank.opened++];
  // The open of a file of one node fails if some node has no agent.
  if (scenario_.stands_in && !opening.routed) return Code::lost_agent;
  const Result<io::Handle> handle = rank.process->library().open(file_of(rank));
  if (!handle) return handle.status();
  rank.handle = *handle;
  const bool onlooker = scenario_.conduct.onlooker == rank.number;
  if (scenario_.conduct.second_handles || onlooker) rank.second = client::open_guest(path_, *rank.process);
  if (onlooker) return {};
  client::OpenRequest request;
  request.path = path_;
  if (is_elsewhere(rank)) request.stand_in = stand_in(rank.node);
  request.group = opening.group;
  request.members = members_on(rank.node);
  request.settings = scenario_.settings;
  if (scenario_.agents.start) request.costs.call_ps = scenario_.agents.start->call_ps;
  if (scenario_.agents.start) request.costs.start_ps = scenario_.agents.start->costs_ps;
  // Large pieces take the pipeline too, because the run tests the agents.
  if (scenario_.settings.strategy == Strategy::sort) request.costs.call_ps = 1'000'000'000'000;
  if (scenario_.nodes > 1 && !opening.routed) request.left = client::Reason::nodes_set_apart;
  if (opening.routed) {
    request.routing = transport::routing_of(scenario_.plan, opening.addresses, rank.node);
    request.routing.key = key_of(scenario_.seed, opening.group);
    request.routing.stands_in = scenario_.stands_in ? 1 : 0;
  }
  request.through = scenario_.reads.until_written;
  request.late =
      scenario_.conduct.joins_late && opening.routed && rank.number % scenario_.ranks_per_node != 0;
  const bool waits = opening.routed && !request.late;  // for its agent's answer
  if (scenario_.reads.until_written) show_size();
  rank.file = client::open(std::move(request), *rank.process);
  rank.reader.through = scenario_.reads.until_written;
  rank.written = rank.closed = false;
  rank.reader.refreshed = true;
  return rank.file->registered() || !waits ? Status() : Status(Code::lost_agent);
}

// If only the first node sees the file, every other node gets a new stand-in at each opening.
void Cluster::count_opening() {
  ++openings_;
  stand_ins_.clear();
  for (std::uint32_t n = 1; scenario_.stands_in && n < scenario_.nodes; ++n)
    stand_ins_.push_back(disk_.create(stand_in(n)));
}

// The first opening, before time begins. False: an open failed, although there was no fault yet.
bool Cluster::open_all() {
  count_opening();
  for (Rank& rank : ranks_) {
    const Status status = open(rank);
    if (!status.ok()) problem(who(rank) + " cannot open the file: " + status.describe());
    if (!status.ok()) return false;
  }
  return true;
}

}  // namespace millrace::sim
