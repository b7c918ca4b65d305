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
#include "agent/requests/sender_numbers.hpp"
#include "agent/server/connection.hpp"
#include "agent/server/file_states.hpp"
#include "agent/server/hold_back.hpp"
#include "agent/server/progress.hpp"
#include "io/clock.hpp"
#include "transport/layout.hpp"

namespace millrace::agent {

// The agent's repeated work. Rounds takes records from the ranks' rings in the order of their stamps, and
// from links in the order of arrival, and gives them to Core. It gives Core a request after the records that
// the request covers. It brings answers back to rings and links. Rounds knows no event loop: Server drives it
// with epoll, sim/ in virtual time. Core, links, page and clock outlive it. Not thread safe.
class Rounds {
 public:
  struct Ways {
    std::function<std::uint64_t()> stamp;                 // the time, by the clock that the page names
    std::function<void(const std::string& line)> log;     // errors that no rank can receive
    std::function<void(const std::string& line)> report;  // Core's
    std::function<std::uint64_t()> worked_ns;  // the time of the processors that this agent has used
  };
  Rounds(Core& core, Links& links, transport::AgentPage& page, const io::Clock& clock, Ways ways,
         std::uint64_t share_every_ns);

  // --- Ranks ---

  // A rank has connected; `socket` may be invalid. The connection is valid until drop(), or until the round
  // after the rank has gone.
  Connection& join(Fd socket);
  Connection* find(SenderId id) const;
  std::size_t ranks() const { return connections_.size(); }
  // A greeted rank registers a file. Returns the answer for the rank. The rank must be able to write the file
  // unless it opens it for reading only.
  transport::Registered enroll(Connection& connection, const transport::Register& registration, Fd target);
  void drop(SenderId id, const std::string& why);
  // Drops a connection that has not greeted before more than `calls` calls. True if there was one without a
  // greeting.
  bool drop_silent(std::uint32_t calls);
  // The next pass ends with Core::write_out().
  void write_out() { write_out_ = WriteOut::in_next_pass; }
  // A process cannot be let in, and so cannot ask for the bytes of a file. It sees that the agent lives, and
  // that the bytes get into the file.
  void refuse() {
    progress_.turned();
    write_out();
  }

  // --- Rounds ---

  enum class Round {
    idle,    // nothing to do
    worked,  // something moved
    held     // the agent leaves the processors to slower ranks: the next round comes after HoldBack::look_ns
  };
  Round go();
  // The latest time of the next round, even without an event; UINT64_MAX: never. The caller first sets
  // `sleeping` in the page. Otherwise a rank could publish records after this call without waking the agent.
  std::uint64_t deadline_ns() const;
  // Called after a sleep. Shows ranks that wait that their agent lives while it waits itself, for other
  // ranks, the storage or another agent: a slow file system is not an error.
  void woke();
  bool asked() const { return !asked_.empty(); }

 private:
  enum class Pass { idle, worked, blocked, held };
  // A request that Core has and has not answered.
  struct Unanswered {
    FileSlot file;
    bool closes;
    std::uint64_t position;
  };
  struct Turn {
    std::uint64_t stamp;
    Connection* connection;
    bool all;  // what the connection's ring has, whatever its stamps are
  };

  Pass drain();
  void begin_pass();
  bool hold_back();
  Pass drain_rings();
  Pass drain_links();
  void forget(SenderId sender);
  void drop_gone();
  void forward_of_agents();
  void forward(const PendingRequest& request);
  void deliver();
  bool something_waits() const;
  // True if a rank waits for an answer, or because a pass cannot end before there is memory.
  bool ranks_wait() const { return asked() || pass_open_; }

  Core& core_;
  Links& links_;
  const io::Clock& clock_;
  Ways ways_;
  FileStates states_;
  SenderNumbers numbers_;
  std::map<SenderId, std::unique_ptr<Connection>> connections_;
  std::vector<PendingRequest> fresh_;    // from the running pass: other rings may hold older records
  std::vector<PendingRequest> waiting_;  // from the pass before: they go to Core when the running pass ends
  std::multimap<std::pair<SenderId, std::uint32_t>, Unanswered> asked_;  // by sender and request
  std::vector<Reply> replies_;                                           // from Core, not delivered yet
  std::vector<FileSlot> damaged_;
  std::vector<Turn> turns_;  // a heap, oldest first
  std::vector<std::pair<SenderId, std::string>> broken_;
  std::uint64_t pass_stamp_ = 0;  // the begin of the pass
  std::uint64_t pass_ = 0;        // its number
  bool pass_open_ = false;
  enum class WriteOut { no, in_next_pass, in_this_pass } write_out_ = WriteOut::no;
  HoldBack hold_;
  Progress progress_;
};

}  // namespace millrace::agent
