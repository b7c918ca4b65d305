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

// Makes one list of two, each of which has the words of some ranks and then their nodes.
void join_company(std::vector<std::byte>& list, std::size_t middle, std::size_t words) {
  const std::size_t size = words * sizeof(std::uint64_t);
  merge_max({reinterpret_cast<std::uint64_t*>(list.data()), words},
            reinterpret_cast<const std::uint64_t*>(&list[middle]));
  const auto later = list.begin() + static_cast<std::ptrdiff_t>(middle);
  list.erase(later, later + static_cast<std::ptrdiff_t>(size));
  const std::span<Node> nodes(reinterpret_cast<Node*>(&list[size]), (list.size() - size) / sizeof(Node));
  const auto merge = [](Node& one, const Node& more) {
    one.ranks += more.ranks;
    one.share += more.share;
    if (one.agent.port == 0) one.agent = more.agent;  // any rank of the node may have started it
  };
  list.resize(size + join_nodes(nodes, (middle - size) / sizeof(Node), merge) * sizeof(Node));
}

// Each rank begins with its own node. The words go along.
bool list_nodes(Team& team, std::span<std::uint64_t> words, Company& company) {
  Node& own = company.nodes.front();
  own.first = static_cast<std::uint32_t>(team.rank());
  own.ranks = 1;
  const std::size_t size = words.size_bytes();
  std::vector<std::byte> list(size + sizeof own);
  std::memcpy(list.data(), words.data(), size);
  std::memcpy(&list[size], &own, sizeof own);
  const auto join = [words](auto& both, std::size_t middle) { join_company(both, middle, words.size()); };
  if (!fold(team, list, join)) return false;
  std::memcpy(words.data(), list.data(), size);
  company.nodes.resize((list.size() - size) / sizeof(Node));
  std::memcpy(company.nodes.data(), &list[size], list.size() - size);
  std::ranges::sort(company.nodes, {}, &Node::first);
  company.share = std::ranges::min(company.nodes, {}, &Node::share).share;
  return true;
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
    list.resize(join_nodes(std::span(list), middle, [&alike](Answer& one, const Answer& more) {
      if (one.other == 0) one.other = alike(one, more) && one.agent == more.agent ? more.other : more.first;
    }));
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

bool meet(Team& team, const Peer& self, std::span<std::uint64_t> words, Company& company) {
  const auto& all = *reinterpret_cast<const PeerWords*>(words.data());
  company.nodes = {self.node};
  Node& own = company.nodes.front();
  own.ranks = static_cast<std::uint32_t>(team.size());
  bool together = false;
  if (!team.connected()) {  // ranks of one node need no list, and no communicator
    if (!team.most(words)) return false;
    together = all.node.everywhere();
  }
  if (!together && !list_nodes(team, words, company)) return false;
  company.one_file = all.inode.everywhere() && self.inode != 0 && all.own_system.everywhere();
  company.alone = all.alone != 0;
  company.probed = all.probed.everywhere() ? self.probed : 0;
  return true;
}

}  // namespace millrace::client
