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

// Asks the outlet to settle departed puts, and counts the puts that are safe. Not thread safe.
class Settlements {
 public:
  Settlements(Outlet& outlet, const Departures& departures) : outlet_(outlet), departures_(departures) {}

  // Settles all puts so far (Outlet::settle). `on_disk`: a close brings them to the disk.
  sink::Ticket begin(transport::Kind kind, Extent extent, bool on_disk);
  // The outlet's answer to begin(), or to a want. Returns the error that the pipeline has to keep.
  Status end(const sink::Done& done);
  // Answers to begin(), each once.
  std::vector<sink::Ticket> take() { return std::exchange(settled_, {}); }
  // The answer to a want, once. Its error is no error of the pipeline. False: it has not come.
  bool take_read(sink::Ticket ticket, Status& status);
  // Drops the answers to wants.
  void forget_read() { read_.clear(); }

  // True if there are puts after the last settling that covered all puts and succeeded.
  bool unsettled() const { return settled_puts_ < departures_.puts(); }
  // True if there are puts after the last close, so that the next one may tell an error of theirs.
  bool untold() const { return told_puts_ < departures_.puts(); }
  // True if all puts are on the disk.
  bool stable() const { return stable_puts_ == departures_.puts(); }
  // The number of puts that are safe.
  std::uint64_t settled_puts() const { return settled_puts_; }
  bool empty() const { return settling_.empty(); }
  bool quiet() const { return settling_.empty() && settled_.empty() && read_.empty(); }

 private:
  struct Settling {
    sink::Ticket ticket;
    std::uint64_t puts;  // the number of puts that it covers
    bool stable;         // on the disk
    std::uint64_t told;  // the number of puts whose errors a close tells
  };

  Outlet& outlet_;
  const Departures& departures_;
  std::uint64_t settled_puts_ = 0;
  std::uint64_t stable_puts_ = 0;
  std::uint64_t told_puts_ = 0;
  std::vector<Settling> settling_;
  std::vector<sink::Ticket> settled_;
  std::vector<sink::Done> read_;
};

}  // namespace millrace::agent
