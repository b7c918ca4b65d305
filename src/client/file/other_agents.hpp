// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/settings.hpp"
#include "client/session/page_view.hpp"
#include "client/session/session.hpp"

namespace millrace::client {

class Process;

// An agent of another job of this user on this node. It may have outlived its job, and have bytes of a file
// that this process opens. Implementations: other_agents.cpp (transport/presence.hpp), sim/rank_process.cpp.
class OtherAgent {
 public:
  OtherAgent() = default;
  virtual ~OtherAgent() = default;
  OtherAgent(const OtherAgent&) = delete;
  OtherAgent& operator=(const OtherAgent&) = delete;

  virtual int process() const = 0;
  virtual bool lives() const = 0;
  // What the agent shows of its files, without its help.
  virtual const PageView& view() const = 0;
  // A new connection, for questions. Fails if the agent does not answer within some seconds.
  virtual Result<std::unique_ptr<Session>> ask() = 0;
  // Ends the agent's process, and waits until it has gone. False: it stays.
  virtual bool end() = 0;
  // Removes what tells of the agent after its end. True for one process only.
  virtual bool bury() = 0;
};

// The agents that live now, without that of this process's session. Thread safe.
class OtherAgents {
 public:
  using List = std::vector<std::shared_ptr<OtherAgent>>;

  explicit OtherAgents(const Settings& settings);
  ~OtherAgents();
  // Costs one system call as long as no agent has come or gone. Lines about agents that cannot be asked go to
  // `process`. An error: this process cannot look.
  Result<List> look(Process& process);

 private:
  struct Known;
  Status look_at(const std::string& path, Process& process);

  const Settings& settings_;
  std::mutex mutex_;
  std::unique_ptr<Known> known_;
};

// Call it before an open of the file. The agents of other jobs write their bytes of the file. If the open
// `writes`, their ledgers forget these bytes: a later recovery would bring them back over newer bytes of the
// open. An agent that makes no progress for `timeout` is ended. So the file has
// one writer. False: an agent has bytes of the file, and cannot be asked or ended.
bool settle_other_agents(Process& process, const OtherAgents::List& others, const char* path,
                         const transport::FileNumbers& file, bool writes);

// The same at a sync of a file that is open already: another job may have written it since. But nobody is
// ended, and an agent that does not write its bytes gets a line and is no error.
void sync_with_other_agents(Process& process, const char* path, std::uint64_t number, bool writes);

}  // namespace millrace::client
