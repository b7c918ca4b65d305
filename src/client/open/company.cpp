// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/open/company.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>
#include <unordered_map>

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
  const std::uint64_t own_system = target.inode() != 0 ? own_system_of(target) : 0;
  Peer self{place.node(), target.inode(), own_system, place.probed(), alone ? 1u : 0u, place.host(), {}};
  if (joins_nodes(settings)) self.agent = place.met();
  if (!meets || self.agent.port != 0) return self;
  if (const Result<AgentAddress> agent = place.meet()) self.agent = *agent;
  return self;
}

Company company_of(std::span<const Peer> peers) {
  Company company;
  std::unordered_map<std::uint64_t, std::size_t> known;
  const auto differs = [&](const Peer& one) {
    return one.inode == 0 || one.inode != peers.front().inode || one.own_system != peers.front().own_system;
  };
  company.heard.probed = peers.empty() ? 0 : peers.front().probed;
  for (std::uint32_t rank = 0; rank < peers.size(); ++rank) {
    const Peer& one = peers[rank];
    const auto [place, is_new] = known.try_emplace(one.node, company.nodes.size());
    if (is_new) company.nodes.push_back({one.node, one.host, one.agent, rank, 0});
    Node& node = company.nodes[place->second];
    ++node.ranks;
    if (node.agent.port == 0) node.agent = one.agent;  // any rank of the node may have started it
    if (differs(one)) company.heard.one_file = 0;
    company.heard.alone = std::max(company.heard.alone, one.alone);
    if (one.probed != company.heard.probed) company.heard.probed = 0;
  }
  return company;
}

}  // namespace millrace::client
