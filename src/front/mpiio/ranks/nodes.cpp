// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/ranks/nodes.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "base/checksum.hpp"
#include "client/file/mounts.hpp"
#include "client/file/storage_host.hpp"
#include "client/file/stripe.hpp"
#include "client/open/own_process.hpp"
#include "client/open/reach.hpp"
#include "client/open/route.hpp"
#include "client/start/log.hpp"
#include "front/mpiio/ranks/exchange.hpp"

namespace millrace::front {
namespace {

// TCP sends a lost handshake again after a second.
constexpr std::uint64_t reach_bound_ms = 2500;

// The checksum of the last route that was probed. Its lowest bit says whether the agents reach each other.
std::atomic<std::uint64_t> last_probed{0};

// The nodes in the order of their first ranks.
struct Nodes {
  std::vector<std::uint64_t> numbers;
  std::vector<client::AgentAddress> agents;
  std::vector<std::uint64_t> hosts;
  std::uint32_t own = 0;
  std::uint32_t members = 0;
};

Nodes nodes_of(const std::vector<Peer>& peers, std::uint64_t own) {
  Nodes nodes;
  for (const Peer& peer : peers) {
    if (peer.node == own) ++nodes.members;
    if (std::ranges::find(nodes.numbers, peer.node) != nodes.numbers.end()) continue;
    if (peer.node == own) nodes.own = static_cast<std::uint32_t>(nodes.numbers.size());
    nodes.numbers.push_back(peer.node);
    nodes.agents.push_back(peer.agent);
    nodes.hosts.push_back(peer.host);
  }
  return nodes;
}

// A number for the agents and the way between them. Its lowest bit is set.
std::uint64_t number_of(const Nodes& nodes, const client::RoutePlan& plan) {
  return (checksum(nodes.agents.data(), nodes.agents.size() * sizeof(client::AgentAddress)) ^
          checksum(&plan, sizeof plan)) |
         1u;
}

// The agents that this node's agent calls.
std::vector<client::AgentAddress> next_agents(const client::Routing& routing) {
  std::vector<client::AgentAddress> next;
  for (std::uint32_t lane = 0; lane < routing.lanes; ++lane) {
    const client::AgentAddress& address = routing.hops[lane].next;
    if (address.port != 0 && std::ranges::find(next, address) == next.end()) next.push_back(address);
  }
  return next;
}

// Finds out whether this node's agent can reach its next agents. One rank of each node tries to connect, once
// for each route. If all ranks remember the result for all nodes, no rank tries again.
void probe(const std::vector<Peer>& peers, Meeting& meeting) {
  const std::uint64_t route = meeting.route;
  const auto all_know = [&](std::uint64_t what) {
    return std::ranges::all_of(peers, [what](const Peer& peer) { return peer.probed == what; });
  };
  meeting.known = all_know(route) || all_know(route ^ 1u);
  if (meeting.known) {
    meeting.reaches = all_know(route);
    return;
  }
  meeting.reaches = !meeting.first_of_node || client::can_reach(next_agents(meeting.routing), reach_bound_ms);
}

// True if the address of each agent that other agents call is known.
bool knows_called(const Nodes& nodes, const client::RoutePlan& plan) {
  const auto count = static_cast<std::uint32_t>(nodes.numbers.size());
  for (std::uint32_t lane = 0; lane < plan.lanes; ++lane) {
    const std::uint32_t server = client::file_server(plan, count, lane);
    for (std::uint32_t node = 0; node < count; ++node) {
      if (node == server) continue;
      if (nodes.agents[client::next_node(plan.topology, count, node, server)].port == 0) return false;
    }
  }
  return true;
}

// True if the address of some node's agent is not known. The first rank of each node tells it.
bool unmet(const Nodes& nodes) {
  return std::ranges::any_of(nodes.agents, [](const client::AgentAddress& agent) { return agent.port == 0; });
}

// The first rank of each node starts the node's agent if there is none, and sends its address to all ranks.
bool meet_agents(MPI_Comm comm, const Peer& self, bool first_of_node, std::vector<Peer>& peers) {
  Peer own = self;
  if (first_of_node) {
    if (const Result<client::AgentAddress> agent = client::meet()) own.agent = *agent;
  }
  return gather(comm, own, peers);
}

// The identity of the running kernel. Returns its size.
std::size_t boot_of(char* text, std::size_t most) {
  const Fd file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  const ssize_t got = file.valid() ? ::read(file.get(), text, most) : 0;
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

// Local disks that were copied from one image have files with equal numbers on several machines. So a file of
// a local file system is the same file only below one kernel. There, its device tells the file system.
std::uint64_t own_system_of(const client::TargetFile& target) {
  // Asks the table of mounts once for each file system. Exit handlers may open files too.
  static std::mutex mutex;
  static auto& known = *new std::map<std::uint64_t, std::uint64_t>;
  const std::lock_guard lock(mutex);
  const auto [entry, is_new] = known.try_emplace(target.device(), 0);
  if (!is_new || client::is_remote(target)) return entry->second;
  char text[128] = {};
  const std::size_t size = boot_of(text, 64);
  const std::uint64_t device = target.device();
  std::memcpy(text + size, &device, sizeof device);
  return entry->second = checksum(text, size + sizeof device) | 1u;
}

}  // namespace

std::uint64_t node_number() {
  char text[256] = {};
  std::size_t size = boot_of(text, 64);
  const ssize_t link = ::readlink("/proc/self/ns/net", text + size, sizeof text - size);
  if (link > 0) size += static_cast<std::size_t>(link);
  return checksum(text, size);
}

Peer describe_self(const client::TargetFile& target, const Settings& settings, bool alone, bool meets) {
  static const std::uint64_t node = node_number();
  static const std::uint64_t host = client::own_host_number();
  const std::uint64_t own_system = target.inode() != 0 ? own_system_of(target) : 0;
  Peer self{node, target.inode(), own_system, last_probed.load(), alone ? 1u : 0u, host, {}};
  if (joins_nodes(settings)) self.agent = client::met();
  if (!meets || self.agent.port != 0) return self;
  if (const Result<client::AgentAddress> agent = client::meet()) self.agent = *agent;
  return self;
}

Decision decide(const client::TargetFile& target, const Settings& settings, std::uint64_t storage_host) {
  Decision decision{};
  decision.settings = settings.file;
  decision.topology = settings.topology;
  decision.file_servers = settings.file_servers.value_or(0);
  decision.storage_host = storage_host;
  if (!joins_nodes(settings)) return decision;
  const auto size = static_cast<ssize_t>(decision.key.size());
  decision.wanted = ::getrandom(decision.key.data(), decision.key.size(), 0) == size ? 1 : 0;
  if (storage_host == 0) decision.file_stripe_bytes = client::stripe_of(target);
  return decision;
}

Apart plan_meeting(MPI_Comm comm, std::vector<Peer>& peers, const Decision& decision, bool may_be_late,
                   Meeting& meeting) {
  int rank = 0;
  if (PMPI_Comm_rank(comm, &rank) != MPI_SUCCESS) return Apart::unreachable;
  const auto any = [&](auto&& what) { return std::ranges::any_of(peers, what); };
  if (decision.wanted == 0) return Apart::by_setting;
  const auto other = [&](const Peer& one) {
    return one.inode == 0 || one.inode != peers.front().inode || one.own_system != peers.front().own_system;
  };
  if (any(other)) return Apart::other_file;
  const Peer self = peers[static_cast<std::size_t>(rank)];
  const auto before = std::span(peers).first(static_cast<std::size_t>(rank));
  const bool first_of_node = std::ranges::find(before, self.node, &Peer::node) == before.end();
  Nodes nodes = nodes_of(peers, self.node);
  Settings wishes;
  wishes.topology = decision.topology;
  if (decision.file_servers != 0) wishes.file_servers = decision.file_servers;
  const auto count = static_cast<std::uint32_t>(nodes.numbers.size());
  const auto holder = std::ranges::find(nodes.hosts, decision.storage_host);
  const bool at_storage = decision.storage_host != 0 && holder != nodes.hosts.end();
  const client::RoutePlan plan =
      at_storage
          ? client::plan_route_to(static_cast<std::uint32_t>(holder - nodes.hosts.begin()), wishes, count)
          : client::plan_route(wishes, count, decision.file_stripe_bytes);
  meeting.late = may_be_late && at_storage && knows_called(nodes, plan);
  if (!meeting.late && unmet(nodes)) {
    if (!meet_agents(comm, self, first_of_node, peers)) return Apart::unreachable;
    nodes = nodes_of(peers, self.node);
    if (unmet(nodes)) return Apart::no_address;
  }
  if (any([](const Peer& one) { return one.alone != 0; })) return Apart::alone;
  client::Routing routing = client::routing_of(plan, nodes.agents, nodes.own);
  routing.key = decision.key;
  meeting.routing = routing;
  meeting.members = nodes.members;
  meeting.settings = decision.settings;
  meeting.first_of_node = first_of_node;
  meeting.route = number_of(nodes, plan);
  if (!meeting.late) {
    probe(peers, meeting);
    return meeting.known && !meeting.reaches ? Apart::unreachable : Apart::no;
  }
  const bool failed = any([&](const Peer& one) { return one.probed == (meeting.route ^ 1u); });
  return failed ? Apart::unreachable : Apart::no;
}

bool try_meeting(const Meeting& meeting) {
  if (last_probed.load() == meeting.route) return true;
  const bool reaches = client::can_reach(next_agents(meeting.routing), reach_bound_ms);
  remember_meeting(meeting, reaches);
  return reaches;
}

void remember_meeting(const Meeting& meeting, bool all_reach) {
  last_probed.store(all_reach ? meeting.route : meeting.route ^ 1u);
}

client::Reason why(Apart apart) {
  using client::Reason;
  switch (apart) {
    case Apart::no:
      break;
    case Apart::by_setting:
      return Reason::nodes_set_apart;
    case Apart::other_file:
      return Reason::other_file;
    case Apart::no_address:
      return Reason::no_address;
    case Apart::alone:
      return Reason::open_alone;
    case Apart::unreachable:
      return Reason::unreachable;
    case Apart::refused:
      return Reason::refused_elsewhere;
    case Apart::left_before:
      return Reason::left_before;
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
  std::string line = path + nodes +
                     " is left to the MPI library: " + std::string(client::text_of(why(apart)).text) +
                     ". It is written as without Millrace, and so are other such files";
  if (ends_on_disk(settings)) line += "; each rank syncs its bytes at close";
  if (keeps_ledger(settings)) line += "; the nodes keep no journals for `millrace recover`";
  client::log(line);
}

}  // namespace millrace::front
