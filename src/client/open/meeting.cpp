// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/open/meeting.hpp"

#include <algorithm>
#include <atomic>
#include <span>
#include <vector>

#include "base/checksum.hpp"
#include "client/start/log.hpp"

namespace millrace::client {
namespace {

// A number for the agents and the way between them. Its lowest bit is set.
std::uint64_t number_of(const std::vector<AgentAddress>& agents, const RoutePlan& plan) {
  return (checksum(agents.data(), agents.size() * sizeof(AgentAddress)) ^ checksum(&plan, sizeof plan)) | 1u;
}

// The agents that this node's agent calls.
std::vector<AgentAddress> next_agents(const Routing& routing) {
  std::vector<AgentAddress> next;
  for (std::uint32_t lane = 0; lane < routing.lanes; ++lane) {
    const AgentAddress& address = routing.hops[lane].next;
    if (address.port != 0 && std::ranges::find(next, address) == next.end()) next.push_back(address);
  }
  return next;
}

// True if the address of each agent that other agents call is known.
bool knows_called(const std::vector<AgentAddress>& agents, const RoutePlan& plan) {
  const auto count = static_cast<std::uint32_t>(agents.size());
  for (std::uint32_t lane = 0; lane < plan.lanes; ++lane) {
    const std::uint32_t server = file_server(plan, count, lane);
    for (std::uint32_t node = 0; node < count; ++node) {
      if (node != server && agents[next_node(plan.topology, count, node, server)].port == 0) return false;
    }
  }
  return true;
}

// True if the address of some node's agent is not known.
bool unmet(const Company& company) {
  return std::ranges::any_of(company.nodes, [](const Node& node) { return node.agent.port == 0; });
}

// The first rank of each node starts the node's agent if there is none. All ranks get all addresses.
bool meet_agents(Team& team, Place& place, const Node& own, Company& company) {
  std::vector<AgentAddress> agents;
  if (static_cast<int>(own.first) == team.rank()) {
    const Result<AgentAddress> met = place.meet();
    agents = {met ? *met : own.agent};
  }
  if (!fold(team, agents) || agents.size() != company.nodes.size()) return false;
  for (std::size_t i = 0; i < agents.size(); ++i) company.nodes[i].agent = agents[i];
  return true;
}

}  // namespace

Decision decide(Place& place, const Settings& settings, const Sight& sight) {
  Decision decision{};
  decision.settings = settings.file;
  decision.topology = settings.topology;
  decision.file_servers = settings.file_servers.value_or(0);
  decision.storage_host = sight.storage_host;
  decision.file_stripe_bytes = sight.stripe_bytes;
  if (!joins_nodes(settings)) return decision;
  decision.wanted = place.draw(decision.key) ? 1 : 0;
  return decision;
}

Apart plan_meeting(Team& team, Place& place, Company& company, const Decision& decision, bool may_be_late,
                   Meeting& meeting) {
  if (decision.wanted == 0) return Apart::by_setting;
  const bool on_first = decision.on_first != 0;
  if (!on_first && !company.one_file) return Apart::other_file;
  Settings wishes;
  wishes.topology = decision.topology;
  if (decision.file_servers != 0) wishes.file_servers = decision.file_servers;
  const auto count = static_cast<std::uint32_t>(company.nodes.size());
  const auto holder = std::ranges::find(company.nodes, decision.storage_host, &Node::host);
  const bool at_storage = decision.storage_host != 0 && holder != company.nodes.end();
  const RoutePlan plan =
      at_storage ? plan_route_to(static_cast<std::uint32_t>(holder - company.nodes.begin()), wishes, count)
                 : plan_route(wishes, count, decision.file_stripe_bytes);
  const std::size_t own = company.index_of(place.node());
  meeting.late = may_be_late && at_storage && knows_called(company.agents(), plan);
  if (!meeting.late && unmet(company)) {
    if (!meet_agents(team, place, company.nodes[own], company)) return Apart::unreachable;
    if (unmet(company)) return Apart::no_address;
  }
  if (!on_first && company.alone) return Apart::alone;
  const std::vector<AgentAddress> agents = company.agents();
  Routing routing = routing_of(plan, agents, static_cast<std::uint32_t>(own));
  routing.key = decision.key;
  routing.stands_in = decision.on_first;
  meeting.routing = routing;
  meeting.members = company.nodes[own].ranks;
  meeting.settings = decision.settings;
  meeting.first_of_node = static_cast<int>(company.nodes[own].first) == team.rank();
  meeting.route = number_of(agents, plan);
  // One rank of each node tries to reach the next agents, once for each route. If all ranks remember the
  // result for all nodes, no rank tries again.
  const std::uint64_t probed = company.probed;
  if (probed == (meeting.route ^ 1u)) return Apart::unreachable;
  if (meeting.late) return Apart::no;
  meeting.known = probed == meeting.route;
  meeting.reaches = meeting.known || !meeting.first_of_node || place.reaches(next_agents(routing));
  return Apart::no;
}

bool try_meeting(Place& place, const Meeting& meeting) {
  if (place.probed() == meeting.route) return true;
  const bool reaches = place.reaches(next_agents(meeting.routing));
  remember_meeting(place, meeting, reaches);
  return reaches;
}

void remember_meeting(Place& place, const Meeting& meeting, bool all_reach) {
  place.set_probed(all_reach ? meeting.route : meeting.route ^ 1u);
}

Reason why(Apart apart) {
  switch (apart) {
    case Apart::no:
      break;
    case Apart::by_setting:
      return Reason::set_direct;
    case Apart::other_file:
      return Reason::other_file;
    case Apart::no_address:
      return Reason::unreachable;
    case Apart::alone:
      return Reason::open_alone;
    case Apart::unreachable:
      return Reason::unreachable;
    case Apart::refused:
      return Reason::agent_gone;
    case Apart::left_before:
      return Reason::other_handle;
    case Apart::incoherent:
      return Reason::incoherent;
  }
  return Reason::none;
}

void tell(Apart apart, const std::string& path, const FileSettings& settings) {
  static std::atomic<std::uint32_t> told{0};
  const std::uint32_t reason = 1u << static_cast<unsigned>(apart);
  if (apart == Apart::by_setting || apart == Apart::left_before || (told.fetch_or(reason) & reason) != 0)
    return;
  const char* const nodes = apart == Apart::incoherent ? "" : ", which several nodes have open,";
  std::string line = path + nodes + " is left to the MPI library: " + std::string(text_of(why(apart)).text) +
                     ". It is written as without Millrace, and so are other such files";
  if (ends_on_disk(settings)) line += "; each rank syncs its bytes at close";
  if (keeps_ledger(settings)) line += "; the nodes keep no journals for `millrace recover`";
  log(line);
}

}  // namespace millrace::client
