// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "transport/layout.hpp"
#include "transport/memory.hpp"

// The agents of a user on this node. An agent's page is a file in memory,
// /dev/shm/millrace-UID/PID-NUMBER.agent, and the agent holds the lock of this file (flock) as long as it
// lives. So other jobs of the user find the agent and see its files, also if the agent has outlived its job,
// is stopped, or is being killed while the kernel keeps one of its threads. The number is at random.
namespace millrace::transport {

// An agent's own page. The destructor removes the file. Not thread safe.
class Presence {
 public:
  // `name`: of the agent's socket. `directory`: of its journals. The page is full of zeros behind `shown`.
  // An error: /dev/shm has no room, takes no file, or is not there.
  static Result<Presence> create(const std::string& name, const std::string& directory);
  Presence() = default;
  Presence(Presence&& other) noexcept = default;
  Presence& operator=(Presence&& other) noexcept = default;
  ~Presence();

  AgentPage& page() const { return *reinterpret_cast<AgentPage*>(mapping_.data()); }
  // For other processes, which do not hold the lock by it.
  int shared() const { return shared_.get(); }

 private:
  Fd lock_, shared_;
  Mapping mapping_;
  std::string path_;
};

// True if the descriptor is that of an agent's page. The agent is one of this user and of this build.
bool is_page(const Fd& file);

// An agent, as another process sees it. Holds no descriptor. Not thread safe.
class Neighbour {
 public:
  // Code::not_found: no agent lives there. The page of a dead agent is removed. Code::unsupported: the agent
  // is of another build. Other errors: this process cannot look.
  static Result<Neighbour> look_at(const std::string& path);

  const std::string& path() const { return path_; }
  std::string name() const { return page().shown.name; }
  int process() const { return page().shown.process; }
  std::uint64_t number() const { return page().shown.number; }
  // True also if this process cannot look.
  bool lives() const;
  // Mapped for reading only. A look needs no help of the agent.
  AgentPage& page() const { return *reinterpret_cast<AgentPage*>(mapping_.data()); }
  // True if the agent has its journals in this directory.
  bool has_journals_in(const std::string& directory) const;

  // Ends the process, and waits until it has gone. False: the agent does not end within the bound, or this
  // process cannot tell which process it is.
  bool end(std::uint64_t bound_ms) const;
  // Removes the page of an agent that has gone. True if this call has removed it, and no other process, or if
  // this process sees a /dev/shm that is read-only.
  bool bury() const;

 private:
  std::string path_;
  Mapping mapping_;
};

// The paths of the pages of this user's agents on this node. An error: this process cannot look.
Result<std::vector<std::string>> presences();

// Removes the pages of agents that have died.
void bury_dead();

// Notices that agents have come or gone. Not thread safe.
class PresenceWatch {
 public:
  // True if presences() may have changed since the last call. Costs one system call.
  bool changed();

 private:
  std::uint64_t inode_ = 0;  // 0: no folder
  std::uint64_t changed_ns_ = 0;
  bool settled_ = true;  // false: a later change may have the same time
};

}  // namespace millrace::transport
