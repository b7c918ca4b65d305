// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "io/posix/owned.hpp"
#include "transport/layout.hpp"
#include "transport/memory.hpp"

// The agents of a user on this node. Each living agent has a small file, its presence, and holds the lock of
// this file (flock) as long as it lives. Other jobs of the user find the agent by this file, also if the
// agent has outlived its job and does not answer. One is in the user's folder of journals, and one in that of
// memory_directory, where also jobs with another folder of journals find it. One of the two is enough.
namespace millrace::transport {

inline constexpr const char* memory_directory = "/dev/shm";

using io::FolderWatch;

// The whole file. Builds of other versions read it too: a change needs another magic.
struct PresenceRecord {
  char magic[8];
  std::uint32_t version;  // protocol_version, which is also the version of the page's layout
  std::int32_t process;
  std::int32_t page;  // the agent's descriptor of its AgentPage
  std::uint32_t reserved;
  char name[64];  // of the agent's socket
};
static_assert(sizeof(PresenceRecord) == 88);

// An agent's own presence. The destructor removes its files. Not thread safe.
class Presence {
 public:
  static Result<Presence> announce(const std::string& directory, const std::string& name, int page);
  Presence() = default;
  Presence(Presence&& other) noexcept = default;
  Presence& operator=(Presence&& other) noexcept = default;
  ~Presence();

 private:
  std::vector<io::Owned> files_;
};

// An agent, as another process sees it by its presence. Not thread safe.
class Neighbour {
 public:
  // Code::not_found: no agent lives there. A presence without a living agent is removed.
  // Code::unsupported: the agent is of another build.
  static Result<Neighbour> look_at(const std::string& path);

  const std::string& path() const { return path_; }
  const std::string& name() const { return name_; }
  int process() const { return process_; }
  bool lives() const;
  // The agent's page; nullptr: the kernel does not show it to this process. A look needs no help of the
  // agent, which may be stopped.
  AgentPage* page() const;

  // Ends the process, and waits until it has gone. False: the agent does not end within the bound, or this
  // process cannot tell which process it is.
  bool end(std::uint64_t bound_ms) const;
  // Removes the presence of an agent that has gone. True if this call has removed it, and no other process.
  bool bury() const;

 private:
  std::string path_, name_;
  int process_ = -1;
  Mapping page_;
};

// The paths of the presences of agents with journals in the directory, and of those whose folder of journals
// takes no file. One for each agent.
std::vector<std::string> presences_in(const std::string& directory);
// The same, and those of agents with another folder. An agent may have two.
std::vector<std::string> presences_on_node(const std::string& directory);

// Removes the presences of agents that have died.
void bury_dead(const std::string& directory);

}  // namespace millrace::transport
