// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "agent/pipeline/departures.hpp"
#include "agent/pipeline/outlet.hpp"
#include "extent/extent.hpp"
#include "sink/sink.hpp"

namespace millrace::agent {

// Counts the departed puts that are known to be safe, by asking the outlet. Not thread
// safe.
class Settlements {
 public:
  Settlements(Outlet& outlet, const Departures& departures) : outlet_(outlet), departures_(departures) {}

  // Makes sure of everything that has departed completely (Outlet::settle). `on_disk`: a close promises that.
  sink::Ticket begin(transport::Kind kind, Extent extent, bool on_disk);
  // The outlet's answer to begin(), or to a fetch. Returns what the pipeline's error has to become.
  Status end(const sink::Done& done);
  // Answers to begin(), each once.
  void take(std::vector<sink::Ticket>& tickets);
  // The answer to a fetch or a want, once. Its error is told here alone. False: it has not come.
  bool take_fetched(sink::Ticket ticket, Status& status);
  // Nobody waits for answers to fetches and wants any more.
  void forget_fetched() { fetched_.clear(); }

  // True if bytes have departed since the last settling of everything that completed well.
  bool unsettled() const { return settled_puts_ < departures_.puts(); }
  // True if all that has departed is on the disk.
  bool stable() const { return stable_puts_ == departures_.puts(); }
  // The number of puts that are known to be safe.
  std::uint64_t settled_puts() const { return settled_puts_; }
  bool empty() const { return settling_.empty(); }
  bool quiet() const { return settling_.empty() && settled_.empty() && fetched_.empty(); }

 private:
  struct Settling {
    sink::Ticket ticket;
    std::uint64_t puts;  // that it makes sure of
    bool stable;
  };

  Outlet& outlet_;
  const Departures& departures_;
  std::uint64_t settled_puts_ = 0;
  std::uint64_t stable_puts_ = 0;
  std::vector<Settling> settling_;
  std::vector<sink::Ticket> settled_;
  std::vector<sink::Done> fetched_;
};

}  // namespace millrace::agent
