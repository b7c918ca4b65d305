// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/open/company.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "base/checksum.hpp"
#include "base/fd.hpp"
#include "client/file/mounts.hpp"

namespace millrace::client {
namespace {

// The identity of the running kernel. Returns its size.
std::size_t boot_of(char* text, std::size_t most) {
  const Fd file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  const ssize_t got = file.valid() ? ::read(file.get(), text, most) : 0;
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

// Local disks that were copied from one image have files with equal numbers on several machines. So a file of
// a local file system is the same file only below one kernel. There, its device tells the file system.
std::uint64_t own_system_of(const TargetFile& target) {
  // Asks the table of mounts once for each file system. Exit handlers may open files too.
  static std::mutex mutex;
  static auto& known = *new std::map<std::uint64_t, std::uint64_t>;
  const std::lock_guard lock(mutex);
  const auto [entry, is_new] = known.try_emplace(target.device(), 0);
  if (!is_new || is_remote(target)) return entry->second;
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

Peer describe_self(const TargetFile& target, const Settings& settings, bool alone, bool meets, Place& place) {
  Peer self{{.number = place.node(), .host = place.host()},
            target.inode(),
            target.inode() != 0 ? own_system_of(target) : 0,
            place.probed(),
            alone ? 1u : 0u};
  if (joins_nodes(settings)) self.node.agent = place.met();
  if (!meets || self.node.agent.port != 0) return self;
  if (const Result<AgentAddress> agent = place.meet()) self.node.agent = *agent;
  return self;
}

bool differing(Team& team, const Answer& mine, std::vector<int>& ranks) {
  const auto alike = [](const Answer& one, const Answer& other) {
    return one.magic == other.magic && one.build == other.build;
  };
  std::vector<Answer> answers{mine};
  const auto join = [&alike](std::vector<Answer>& list, std::size_t middle) {
    join_nodes(list, middle, [&alike](Answer& one, const Answer& more) {
      if (one.other == 0) one.other = alike(one, more) && one.agent == more.agent ? more.other : more.first;
    });
  };
  if (!fold(team, answers, join)) return false;
  std::ranges::sort(answers, {}, &Answer::first);
  for (const Answer& one : answers) {
    if (!alike(one, answers.front()))
      ranks.push_back(static_cast<int>(one.first));
    else if (one.other != 0)
      ranks.push_back(static_cast<int>(one.other));
  }
  std::ranges::sort(ranks);
  return true;
}

std::vector<AgentAddress> Company::agents() const {
  std::vector<AgentAddress> agents;
  agents.reserve(nodes.size());
  for (const Node& node : nodes) agents.push_back(node.agent);
  return agents;
}

bool list_nodes(Team& team, const Peer& self, const PeerWords& all, Company& company) {
  company.one_file = all.inode.everywhere() && self.inode != 0 && all.own_system.everywhere();
  company.alone = all.alone != 0;
  company.probed = all.probed.everywhere() ? self.probed : 0;
  company.nodes = {self.node};
  Node& own = company.nodes.front();
  own.first = 0;
  own.ranks = static_cast<std::uint32_t>(team.size());
  if (all.node.everywhere()) return true;
  own.first = static_cast<std::uint32_t>(team.rank());
  own.ranks = 1;
  const auto join = [](std::vector<Node>& list, std::size_t middle) {
    join_nodes(list, middle, [](Node& one, const Node& more) {
      one.ranks += more.ranks;
      one.share += more.share;
      if (one.agent.port == 0) one.agent = more.agent;  // any rank of the node may have started it
    });
  };
  if (!fold(team, company.nodes, join)) return false;
  std::ranges::sort(company.nodes, {}, &Node::first);
  company.nodes.shrink_to_fit();
  company.share = std::ranges::min(company.nodes, {}, &Node::share).share;
  return true;
}

}  // namespace millrace::client
