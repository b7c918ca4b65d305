// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agent/core/core.hpp"
#include "agent/links/links.hpp"
#include "agent/server/rounds.hpp"
#include "client/session/session.hpp"
#include "io/clock.hpp"
#include "io/virtual/timeline.hpp"
#include "round_costs.hpp"
#include "scenario.hpp"
#include "transport/ring.hpp"
#include "watches.hpp"
#include "world.hpp"

namespace millrace::sim {

class Line;
class Seat;

// A node's clock: the time plus its jumps.
class NodeClock final : public io::Clock {
 public:
  explicit NodeClock(const io::Timeline& timeline) : timeline_(timeline) {}
  std::uint64_t now_ns() const override { return timeline_.now_ns() + ahead_ns_; }
  std::uint64_t ahead_ns() const { return ahead_ns_; }
  void jump(std::uint64_t by_ns) { ahead_ns_ += by_ns; }

 private:
  const io::Timeline& timeline_;
  std::uint64_t ahead_ns_ = 0;
};

// The agent of a node: the shipped Core, Links and Rounds, and the rings and the page that it shares with its
// ranks. The agent sleeps until an event or a deadline, as Server does, and a round takes time. The ranks'
// sessions reach it through a Line. Owned by Cluster. Not
// thread safe.
class Node {
 public:
  // `scenario`: outlives the node. `journals`: the node's folder of journals.
  Node(World& world, std::uint32_t number, const Scenario& scenario, std::string journals);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // --- For ranks ---

  // A session for a process in this seat.
  Result<std::unique_ptr<client::Session>> connect(Seat& seat, std::uint64_t timeout_ms);
  // True if the agent's name is taken: the agent is there and listens, or is about to be.
  bool named() const { return alive() || coming_; }
  // What the agent shows of its files to every process of its user.
  transport::AgentPage& shown() const { return page(); }
  // True if the agent accepts ranks.
  bool admits() const { return alive() && now() >= admits_at_ns_; }
  // Called when a rank starts the agent.
  void come();
  // Sets the line whose seat the rank's futexes wake; nullptr: none any more.
  void taken(agent::SenderId rank, Line* line);
  // The agent's answer to a message, which came with a descriptor.
  std::vector<std::byte> ask(agent::SenderId rank, std::span<const std::byte> message, int descriptor);
  void wake() { plan(now()); }
  // False: the agent has gone, or has dropped the rank.
  bool serves(agent::SenderId rank) const { return alive() && agent_->rounds.find(rank) != nullptr; }
  // The rank hangs up. Its published records are still good.
  void hang_up(agent::SenderId rank);
  World& world() const { return world_; }
  std::uint32_t number() const { return number_; }
  const io::Clock& clock() const { return clock_; }
  void say(const std::string& line) const { world_.say(number_, line); }
  // What its agents have told: lines of the log, and errors in reports.
  const std::vector<std::string>& told() const { return told_lines_; }

  // --- For the run ---

  // The agent's process stops for this time.
  void pause(std::uint64_t for_ns);
  // The agent's process dies, or the host with it. The journals that it leaves are in the folder afterwards.
  void crash(bool host);
  // Does the work of Server on SIGTERM.
  void terminate();
  // The host's clock jumps forward, for all its processes.
  void jump(std::uint64_t by_ns);
  // Ends the agent in an orderly way. The agent must be idle, and no rank may need it any more.
  void leave();
  // Starts a new agent after the old one has ended. Lines to the old agent are cut.
  void restart();

  bool alive() const { return agent_ != nullptr; }
  bool idle() const { return agent_ == nullptr || agent_->core.idle(); }
  const std::string& journals() const { return journals_; }
  // The most bytes that any agent of this node had in flight to the disk.
  std::uint64_t most_in_flight() const {
    return std::max(most_in_flight_, world_.disk.of(process_).most_in_flight());
  }

 private:
  // The parts of the shipped agent, in one process.
  struct Agent {
    Agent(Node& node, agent::Loop::WatchSocket watch, const agent::Rounds::Ways& ways);

    agent::Links links;
    agent::Core core;
    agent::Rounds rounds;
  };

  void start();
  void stop();
  transport::AgentPage& page() const { return *reinterpret_cast<transport::AgentPage*>(page_.data()); }
  void plan(std::uint64_t time_ns);
  void round();
  void sleep();
  std::uint64_t now() const { return world_.timeline.now_ns(); }

  World& world_;
  std::uint32_t number_;
  std::uint64_t agents_ = 0;  // that have started here
  io::VirtualDisk::Process process_;
  NodeClock clock_;
  std::string journals_;
  const Scenario& scenario_;
  RoundCosts costs_;
  Watches watches_;
  std::uint64_t most_in_flight_ = 0;  // of agents that have gone
  Fd page_memory_;
  transport::Mapping page_;
  std::unique_ptr<Agent> agent_;  // nullptr: the process has gone
  std::vector<Line*> lines_;      // by sender
  std::optional<io::Timeline::Event> planned_;
  std::optional<io::Timeline::Event> coming_;  // the start of an agent that a rank has begun
  std::vector<std::string> told_lines_;
  std::uint64_t admits_at_ns_ = 0;
  std::uint64_t busy_until_ns_ = 0;
  bool slept_ = false;
};

}  // namespace millrace::sim
