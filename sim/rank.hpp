// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "client/open/plan.hpp"
#include "rank_process.hpp"
#include "reader.hpp"
#include "scenario.hpp"
#include "virtual_place.hpp"
#include "writer.hpp"

namespace millrace::sim {

struct Cluster;

// A rank. Its program is straight code in a fiber of its own, over the shipped client. It calls the MPI
// library as a front does. After an error the rank writes no more, but it still meets the other ranks, and
// closes the file. Owned by Job. Not thread safe.
class Rank {
 public:
  Rank(Cluster& cluster, std::uint32_t number);

  std::uint32_t number() const { return number_; }
  std::uint32_t node() const { return node_; }
  RankProcess& process() const { return *process_; }
  VirtualPlace& place() const { return *place_; }
  Writer& writer() { return writer_; }
  Reader& reader() { return reader_; }
  std::size_t step() const { return step_; }
  bool over() const { return over_; }    // its program has ended
  bool gone() const { return gone_; }    // it has died
  bool waits() const { return waits_; }  // for the other ranks
  bool has_failed() const { return gone_ || !error_.ok(); }
  // True if it does not open the file with the others.
  bool looks_on() const;
  void problem(const std::string& text) const;

  // Starts a process, if the rank has none, which joins the agent of its node.
  Status connect();
  // The rank dies.
  void vanish();
  // Ends the rank's wait for the others.
  void go_on();
  // The programs have ended. The process ends too, unless it opens the file again.
  void let_go(const Opening& next);
  // The next program begins. `opened`: the number of its first open.
  void begin_again(std::size_t opened);

  // --- In the rank's fiber ---

  // Runs the program.
  void live();
  // Plans an open together with the others, by the shipped protocol.
  using Protocol = client::Plan (*)(client::Team&, client::Place&, client::Wishes);
  client::Plan agree(Protocol protocol, const transport::RoutePlan& route, millrace::Stage stage,
                     bool leads = false);
  void meet();
  void think();
  // Its next steps begin later by this processor time.
  void owe(std::uint64_t time_ps) { owed_ps_ += time_ps; }
  void note(const char* what, std::uint64_t one = 0, std::uint64_t other = 0) const;
  // Records the outcome of a call. False: the rank has died, or got an error.
  bool told(Status status);

 private:
  bool stays(const Opening& next) const;
  void pay();
  void take(const Step& step);
  void compute(std::uint64_t for_ns);
  void settle();

  Cluster& cluster_;
  const std::uint32_t number_;
  const std::uint32_t node_;
  std::size_t step_ = 0;  // of its program
  std::unique_ptr<RankProcess> process_;
  std::unique_ptr<VirtualPlace> place_;  // of that process
  std::size_t opened_ = 0;               // how often it has opened the file
  Writer writer_;
  Reader reader_;
  bool waits_ = false;
  bool over_ = false;
  bool gone_ = false;
  std::uint64_t owed_ps_ = 0;  // of processor time
  Status error_;
};

}  // namespace millrace::sim
