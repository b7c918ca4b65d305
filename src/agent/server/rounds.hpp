// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/core/core.hpp"
#include "agent/links/links.hpp"
#include "agent/server/connection.hpp"
#include "agent/server/file_states.hpp"
#include "agent/server/hold_back.hpp"
#include "agent/server/progress.hpp"
#include "io/clock.hpp"
#include "transport/layout.hpp"

namespace millrace::agent {

// The agent's repeated work. It takes records from the ranks' rings in the order of their stamps, and from
// links in the order of arrival, and gives them to Core. It gives Core a request after the records that the
// request covers. It brings answers back to rings and links. Rounds knows no event loop: Server drives it
// with epoll, sim/ in virtual time. Core,
// links, page and clock outlive it. Not thread safe.
class Rounds {
 public:
  struct Ways {
    std::function<std::uint64_t()> stamp;                 // now, by the clock that the page names
    std::function<void(const std::string& line)> log;     // errors that no rank can be told
    std::function<void(const std::string& line)> report;  // Core's
  };
  Rounds(Core& core, Links& links, transport::AgentPage& page, const io::Clock& clock, Ways ways,
         std::uint64_t share_every_ns);

  // --- Ranks ---

  // A rank that has just connected; `socket` may be none. Valid until drop(), or the round after it has gone.
  Connection& join(Fd socket);
  Connection* find(SenderId id) const;
  std::size_t ranks() const { return connections_.size(); }
  // A greeted rank names a file: the answer for it. Files that ranks do not open for writing may be any.
  transport::Registered enroll(Connection& connection, const transport::Register& registration, Fd target);
  void drop(SenderId id, const std::string& why);
  // Drops connections without a greeting after `calls` calls. True if a connection has not greeted yet.
  bool drop_silent(std::uint32_t calls);
  // The process may be killed soon: all that ranks have written so far sets out at the next round.
  void write_out() { write_out_ = true; }

  // --- Rounds ---

  enum class Round {
    idle,    // nothing to do
    worked,  // something moved
    held     // ranks that lag are given the processors: the next round comes after HoldBack::look_ns
  };
  Round go();
  // Until when the next round has time, though nothing comes from outside; UINT64_MAX: for ever. In a page
  // that says that the agent sleeps: else ranks may publish without waking it after this has looked.
  std::uint64_t deadline_ns() const;
  // After a sleep. Shows ranks that wait for others that their agent lives.
  void woke();
  bool asked() const { return !asked_.empty(); }

 private:
  enum class Pass { idle, worked, blocked, held };
  // With Core, unanswered.
  struct Asked {
    SenderId sender;
    std::uint32_t request;
    FileSlot file;
    bool closes;
    std::uint64_t position;
  };
  struct Turn {
    std::uint64_t stamp;
    Connection* connection;
  };

  Pass drain();
  void begin_pass();
  bool hold_back();
  Pass drain_rings();
  Pass drain_links();
  void forget(SenderId agent);
  void drop_gone();
  void forward_of_agents();
  void forward(const PendingRequest& request);
  void deliver();
  bool something_waits() const;

  Core& core_;
  Links& links_;
  const io::Clock& clock_;
  Ways ways_;
  FileStates states_;
  std::map<SenderId, std::unique_ptr<Connection>> connections_;
  std::vector<PendingRequest> fresh_;    // seen by the running pass: other rings may hold older records
  std::vector<PendingRequest> waiting_;  // a whole pass has to end before they go to Core
  std::vector<Asked> asked_;
  std::vector<Reply> replies_;  // from Core, to be delivered
  std::vector<FileSlot> damaged_;
  std::vector<Turn> turns_;  // a heap, oldest first
  std::vector<std::pair<SenderId, std::string>> broken_;
  std::uint64_t pass_stamp_ = 0;  // when the pass began
  bool pass_open_ = false;
  bool write_out_ = false;
  HoldBack hold_;
  Progress progress_;
};

}  // namespace millrace::agent
