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

Differing differing(std::span<const Answer> answers) {
  Differing found;
  std::unordered_map<std::uint64_t, std::uint64_t> agents;  // node -> agent of its first rank
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const Answer& one = answers[i];
    if (one.magic != answers.front().magic || one.build != answers.front().build)
      found.build.push_back(static_cast<int>(i));
    if (agents.try_emplace(one.node, one.agent).first->second != one.agent)
      found.agent.push_back(static_cast<int>(i));
  }
  return found;
}

void Counted::add(const Peer& one) {
  if (ranks_ == 0) {
    first_ = one;
    company_.heard.probed = one.probed;
  }
  const auto [place, is_new] = known_.try_emplace(one.node, company_.nodes.size());
  if (is_new) company_.nodes.push_back({one.node, one.host, one.agent, ranks_, 0});
  if (is_new) shares_.push_back(0);
  shares_[place->second] += one.share;
  Node& node = company_.nodes[place->second];
  ++node.ranks;
  if (node.agent.port == 0) node.agent = one.agent;  // any rank of the node may have started it
  const bool differs = one.inode == 0 || one.inode != first_.inode || one.own_system != first_.own_system;
  if (differs) company_.heard.one_file = 0;
  company_.heard.alone = std::max(company_.heard.alone, one.alone);
  if (one.probed != company_.heard.probed) company_.heard.probed = 0;
  ++ranks_;
}

std::vector<AgentAddress> Company::agents() const {
  std::vector<AgentAddress> agents;
  agents.reserve(nodes.size());
  for (const Node& node : nodes) agents.push_back(node.agent);
  return agents;
}

Company Counted::take() {
  if (!shares_.empty()) company_.heard.share = *std::ranges::min_element(shares_);
  return std::move(company_);
}

}  // namespace millrace::client
