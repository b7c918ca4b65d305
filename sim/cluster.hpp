// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "client/session.hpp"
#include "leftovers.hpp"
#include "node.hpp"
#include "oracle.hpp"
#include "run.hpp"
#include "scenario.hpp"
#include "seat.hpp"
#include "settling.hpp"

namespace millrace::sim {

// A rank: its program is straight code in a fiber of its own, over the shipped session. After an error it
// writes no more, but still meets the others, and closes.
struct Rank {
  std::uint32_t number = 0;
  std::uint32_t node = 0;
  const std::vector<Step>* program = nullptr;
  std::size_t step = 0;
  Seat* seat = nullptr;  // the session's contact
  std::unique_ptr<client::Session> session;
  std::uint32_t file = 0;  // as the agent knows it
  client::Tally tally;
  std::vector<std::byte> memory;  // that it writes from
  std::vector<client::Piece> pieces;
  bool at_barrier = false;
  bool over = false;
  bool gone = false;          // with its node
  std::uint64_t owed_ps = 0;  // of processor time
  Status error;
};

// All machines of a run, its ranks, and what befalls them.
class Cluster {
 public:
  Cluster(const Scenario& scenario, bool keep_trace);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  Outcome run();

 private:
  bool connect_all();
  Status connect(Rank& rank);
  bool open_all();
  bool play();
  Status open(Rank& rank, const std::vector<transport::TcpAddress>& addresses);
  // Of a rank's program, in its fiber.
  void live(Rank& rank);
  void think(Rank& rank);
  void pay(Rank& rank);
  void take(Rank& rank, const Step& step);
  void write(Rank& rank, const Step& step);
  void read(Rank& rank, Extent extent);
  Status fetch(Rank& rank, Extent extent);
  void sync(Rank& rank);
  void arrive(Rank& rank);
  void close(Rank& rank);
  Status ask(Rank& rank, transport::Kind kind, Extent extent);
  bool told(Rank& rank, Status status);
  void meet(Rank& rank);
  void release();
  void end(Rank& rank);
  void vanish(Rank& rank);
  void acknowledge(const Rank& rank, bool stable, bool there);
  void check_read(const Rank& rank, Extent extent, std::uint32_t begun);
  void befall(const Fault& fault);
  void crash(std::uint32_t node, bool host);
  bool all_over() const;
  bool all_idle() const;
  bool step_until(std::uint64_t until_ns, bool (Cluster::*done)() const);
  // Of a file that is opened again (reopen.cpp).
  bool open_again(const Opening& opening);
  void lasts(const Fault& fault) { calm_ns_ = std::max(calm_ns_, timeline_.now_ns() + fault.for_ns); }
  void calm(std::uint64_t after_ns);
  bool settle(const Opening& opening);
  bool all_settled() const;
  bool replace_agents(bool all);
  void begin_again(const Opening& opening);
  bool stays(const Rank& rank) const;
  void judge();
  void judge(std::span<const std::byte> file, bool stable, const char* what);
  std::vector<std::byte> recovered();
  void problem(const std::string& text);
  std::string who(const Rank& rank) const;
  std::string stand_in(std::uint32_t node) const {
    return folder_.path() + "/stand-in-" + std::to_string(openings_) + "-" + std::to_string(node);
  }
  // What ranks on that node read and hand over as the file.
  const Fd& file_of(const Rank& rank) const {
    return stand_ins_.empty() || rank.node == 0 ? file_ : stand_ins_[rank.node - 1];
  }

  static constexpr std::size_t most_problems = 10;
  static constexpr std::uint64_t think_ns = 50'000;  // at most, between what a rank asks

  Scenario scenario_;  // programs and faults are those of the opening that is on
  io::Timeline timeline_;
  io::Trace trace_;
  io::VirtualNet net_;
  io::VirtualDisk disk_;
  Processors processors_;
  Folder folder_;  // the file, and each node's journals: real names, virtual contents
  Fd file_;
  std::vector<Fd> stand_ins_;  // of all nodes but the first
  Oracle oracle_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<Rank> ranks_;
  std::vector<std::unique_ptr<Settling>> settling_;  // by node
  std::vector<io::Timeline::Event> planned_;         // faults
  std::uint64_t calm_ns_ = 0;                        // when those that have begun are over
  const Opening* next_ = nullptr;                    // the opening after this one
  std::uint32_t openings_ = 0;                       // so far
  std::uint32_t old_errors_ = 0;                     // of those before
  bool crashed_ = false;                             // an agent, or a node with it
  bool failed_ = false;  // a rank has met the others with an error: nobody writes any more
  std::uint32_t errors_ = 0;
  std::uint64_t over_ns_ = 0;  // when the last rank ended
  std::uint64_t steps_ = 0;
  std::vector<std::string> problems_;
};

}  // namespace millrace::sim
