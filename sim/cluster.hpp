// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "leftovers.hpp"
#include "node.hpp"
#include "oracle.hpp"
#include "run.hpp"
#include "scenario.hpp"

namespace millrace::sim {

// A rank and how far it is in its program. It goes on until it waits: for room in its ring, for an answer, or
// for the others. After an error it writes no more, but still meets the others, and closes.
struct Rank {
  std::uint32_t number = 0;
  std::uint32_t node = 0;
  agent::ChannelId channel = 0;
  const std::vector<Step>* program = nullptr;
  std::size_t step = 0;
  std::uint32_t write = 0;  // the oracle's number of the write that it is at; 0: none
  std::uint64_t written = 0;
  std::uint32_t next_request = 1;
  std::uint32_t asked = 0;  // the request that it waits for
  bool wants_room = false;
  bool at_barrier = false;
  bool over = false;
  bool gone = false;          // with its node
  bool detached = false;      // from its agent, which has gone or does not answer
  bool busy = false;          // with what it owes
  std::uint64_t owed_ps = 0;  // of processor time
  Status error;
  std::uint64_t seen_progress = 0;  // of the agent, and when
  std::uint64_t seen_ns = 0;

  const Step& now() const { return (*program)[step]; }
  bool waits() const { return asked != 0 || wants_room; }
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
  bool open_all();
  void go(Rank& rank);
  void go_soon(Rank& rank);
  bool write(Rank& rank);
  bool pay(Rank& rank);
  void ask(Rank& rank);
  void answered(Rank& rank, std::uint32_t request, Status status);
  void acknowledge(const Rank& rank, bool stable, bool there);
  void check_read(const Rank& rank);
  void end(Rank& rank);
  void meet(Rank& rank);
  void release();
  void detach(Rank& rank, Status status);
  void fail(Rank& rank, Status status);
  void watch();
  void befall(const Fault& fault);
  void crash(std::uint32_t node, bool host);
  bool all_over() const;
  bool all_idle() const;
  bool step_until(std::uint64_t until_ns, bool (Cluster::*done)() const);
  void judge();
  void judge(std::span<const std::byte> file, bool stable, const char* what);
  std::vector<std::byte> recovered();
  void problem(const std::string& text);
  std::string who(const Rank& rank) const;

  static constexpr std::size_t most_problems = 10;

  const Scenario& scenario_;
  io::Timeline timeline_;
  io::Trace trace_;
  io::VirtualNet net_;
  io::VirtualDisk disk_;
  Processors processors_;
  Folder folder_;  // the file, and each node's journals: real names, virtual contents
  Fd file_;
  Oracle oracle_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<Rank> ranks_;
  bool crashed_ = false;  // an agent, or a node with it
  bool failed_ = false;   // a rank has met the others with an error: nobody writes any more
  std::uint32_t errors_ = 0;
  std::uint64_t over_ns_ = 0;  // when the last rank ended
  std::uint64_t steps_ = 0;
  std::vector<std::string> problems_;
};

}  // namespace millrace::sim
