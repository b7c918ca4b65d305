// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/nodes.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <span>
#include <vector>

#include "base/checksum.hpp"
#include "client/file.hpp"
#include "client/reach.hpp"
#include "client/route.hpp"
#include "client/stripe.hpp"
#include "front/mpiio/real.hpp"

namespace millrace::front {
namespace {

// What a rank tells all others, as bytes: all run the same build.
struct Place {
  std::uint64_t node;
  std::uint64_t inode;   // of the file, as this node sees it; 0: it does not
  std::uint64_t probed;  // what this rank knows of a route: see find_out()
  std::uint64_t alone;   // 1: it has a handle of the file that only ranks of its node share
  client::AgentAddress agent;
};

// What rank 0 decides.
struct Decision {
  std::uint64_t wanted;
  std::array<std::byte, 32> key;
  FileSettings settings;
  client::RoutePlan plan;
};

// A handshake that is lost is sent again after a second.
constexpr std::uint64_t reach_bound_ms = 2500;

// The last route that was tried: a checksum of it, and in its lowest bit whether agents reach each other.
std::atomic<std::uint64_t> last_probed{0};

Place own_place(const std::string& path, const Settings& settings, bool alone) {
  static const std::uint64_t node = node_number();
  Place place{node, 0, last_probed.load(), alone ? 1u : 0u, {}};
  struct stat about {};
  if (::stat(path.c_str(), &about) == 0) place.inode = about.st_ino;
  if (!settings.across_nodes || place.inode == 0) return place;
  if (Result<client::AgentAddress> agent = client::meet()) place.agent = *agent;
  return place;
}

// The nodes in the order of their first ranks.
struct Nodes {
  std::vector<std::uint64_t> numbers;
  std::vector<client::AgentAddress> agents;
  std::uint32_t own = 0;
  std::uint32_t members = 0;
};

Nodes nodes_of(const std::vector<Place>& places, std::uint64_t own) {
  Nodes nodes;
  for (const Place& place : places) {
    if (place.node == own) ++nodes.members;
    if (std::ranges::find(nodes.numbers, place.node) != nodes.numbers.end()) continue;
    if (place.node == own) nodes.own = static_cast<std::uint32_t>(nodes.numbers.size());
    nodes.numbers.push_back(place.node);
    nodes.agents.push_back(place.agent);
  }
  return nodes;
}

// Whether every agent can reach those that it is to pass records on to. Tried once for a route, by one rank
// of each node; what all ranks remember of it need not be tried again. Collective.
bool find_out(MPI_Comm comm, const std::vector<Place>& places, const Nodes& nodes, bool first_of_node,
              const client::RoutePlan& plan, const client::Routing& routing) {
  const std::uint64_t route =
      (checksum(nodes.agents.data(), nodes.agents.size() * sizeof(client::AgentAddress)) ^
       checksum(&plan, sizeof plan)) |
      1u;
  const auto all_know = [&](std::uint64_t what) {
    return std::ranges::all_of(places, [what](const Place& place) { return place.probed == what; });
  };
  if (all_know(route)) return true;
  if (all_know(route ^ 1u)) return false;
  std::vector<client::AgentAddress> next;
  for (std::uint32_t lane = 0; lane < routing.lanes; ++lane) {
    const client::AgentAddress& address = routing.hops[lane].next;
    if (address.port != 0 && std::ranges::find(next, address) == next.end()) next.push_back(address);
  }
  const bool mine = !first_of_node || client::can_reach(next, reach_bound_ms);
  const bool all = all_of(comm, mine);
  last_probed.store(all ? route : route ^ 1u);
  return all;
}

Apart apart_by_places(const std::vector<Place>& places) {
  const auto any = [&](auto&& what) { return std::ranges::any_of(places, what); };
  if (any([&](const Place& one) { return one.inode == 0 || one.inode != places.front().inode; }))
    return Apart::other_file;
  if (any([](const Place& one) { return one.agent.port == 0; })) return Apart::no_address;
  return any([](const Place& one) { return one.alone != 0; }) ? Apart::alone : Apart::no;
}

}  // namespace

std::uint64_t node_number() {
  char text[256] = {};
  std::size_t size = 0;
  const int fd = ::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    const ssize_t got = ::read(fd, text, 64);
    size = got > 0 ? static_cast<std::size_t>(got) : 0;
    ::close(fd);
  }
  const ssize_t link = ::readlink("/proc/self/ns/net", text + size, sizeof text - size);
  if (link > 0) size += static_cast<std::size_t>(link);
  return checksum(text, size);
}

bool all_of(MPI_Comm comm, bool mine) {
  int own = mine ? 1 : 0;
  int all = 0;
  return PMPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, comm) == MPI_SUCCESS && all == 1;
}

Apart meet_nodes(MPI_Comm comm, const std::string& path, const Settings& settings, bool alone,
                 Meeting& meeting) {
  int rank = 0, size = 1;
  if (PMPI_Comm_rank(comm, &rank) != MPI_SUCCESS || PMPI_Comm_size(comm, &size) != MPI_SUCCESS)
    return Apart::unreachable;
  const Place own = own_place(path, settings, alone);
  std::vector<Place> places(static_cast<std::size_t>(size));
  if (PMPI_Allgather(&own, sizeof own, MPI_BYTE, places.data(), sizeof own, MPI_BYTE, comm) != MPI_SUCCESS)
    return Apart::unreachable;
  const Nodes nodes = nodes_of(places, own.node);
  Decision decision{};
  if (rank == 0) {
    decision.wanted = settings.across_nodes ? 1 : 0;
    if (::getrandom(decision.key.data(), decision.key.size(), 0) != static_cast<ssize_t>(decision.key.size()))
      decision.wanted = 0;
    decision.settings = settings.file;
    decision.plan = client::plan_route(settings, static_cast<std::uint32_t>(nodes.numbers.size()),
                                       client::stripe_of(path));
  }
  if (PMPI_Bcast(&decision, sizeof decision, MPI_BYTE, 0, comm) != MPI_SUCCESS) return Apart::unreachable;
  if (decision.wanted == 0) return Apart::by_setting;
  if (const Apart apart = apart_by_places(places); apart != Apart::no) return apart;
  client::Routing routing = client::routing_of(decision.plan, nodes.agents, nodes.own);
  routing.key = decision.key;
  const auto before = std::span(places).first(static_cast<std::size_t>(rank));
  const bool first_of_node = std::ranges::find(before, own.node, &Place::node) == before.end();
  if (!find_out(comm, places, nodes, first_of_node, decision.plan, routing)) return Apart::unreachable;
  meeting.routing = routing;
  meeting.members = nodes.members;
  meeting.settings = decision.settings;
  return Apart::no;
}

const char* why(Apart apart) {
  switch (apart) {
    case Apart::no:
      break;
    case Apart::by_setting:
      return "nodes are set not to work together";
    case Apart::other_file:
      return "its nodes do not see the same file";
    case Apart::no_address:
      return "a node has no agent that others can reach; see MILLRACE_INTERFACES";
    case Apart::alone:
      return "a rank has it open without those of other nodes";
    case Apart::unreachable:
      return "the agents of its nodes cannot reach each other; see MILLRACE_INTERFACES, and whether a "
             "firewall "
             "is between the nodes";
    case Apart::refused:
      return "an agent does not take it";
    case Apart::left_before:
      return "another handle of it is left to the MPI library";
  }
  return nullptr;
}

void tell(Apart apart, const std::string& path, const FileSettings& settings) {
  static std::atomic<std::uint32_t> told{0};
  const std::uint32_t reason = 1u << static_cast<unsigned>(apart);
  if (apart == Apart::by_setting || apart == Apart::left_before || (told.fetch_or(reason) & reason) != 0)
    return;
  std::string line = path + ", which several nodes have open, is left to the MPI library: " + why(apart) +
                     ". It is written as without Millrace, and so are others like it";
  if (ends_on_disk(settings)) line += "; each rank syncs what it wrote when it closes them";
  if (keeps_ledger(settings)) line += "; nothing is kept on the nodes for `millrace recover`";
  client::log(line);
}

}  // namespace millrace::front
